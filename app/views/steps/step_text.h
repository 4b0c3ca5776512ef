#pragma once

#include <string>

#include "app/cells/cell_sources.h"
#include "app/cells/step_matrix.h"
#include "app/shell/theme.h"

namespace headlight::app {

/// What a matrix of the steps is called: "queries", "query weights", "memory".
const char* step_title(StepMatrix matrix);
/// Its letter in formulas, as math_text sets it: "Q", "W_Q", "E".
const char* step_symbol(StepMatrix matrix);
/// For files, flags and tests: "q", "w_q", "memory".
std::string step_name(StepMatrix matrix);
/// The colour of its role.
shell::Color step_color(StepMatrix matrix, const shell::Theme& theme);
/// Its space in the field's letters: "ℝ^{n×d_k}".
std::string step_space(StepMatrix matrix, const BlockGeometry& geometry);
/// What its rows and columns are: "query" and "d_k", as math_text sets them.
const char* step_rows(StepMatrix matrix, const BlockGeometry& geometry);
const char* step_columns(StepMatrix matrix);

}  // namespace headlight::app
