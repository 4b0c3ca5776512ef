#pragma once

#include <string_view>

#include <imgui.h>
#include <glm/vec2.hpp>
#include "app/shell/fonts.h"
#include "app/shell/theme.h"

namespace headlight::app {

/// Formulas on one line, in a small part of TeX's notation: "_k" lowers and "^T" raises one character, "_{…}" and "^{…}"
/// several; they nest. "Q ∈ ℝ^{n×d_k}" reads as in a paper. Scripts are set in the small
/// font.
/// Width and height, UI units.
glm::vec2 measure_math(const shell::FontSet& fonts, ImFont* base, std::string_view formula);
void draw_math(ImDrawList* list, const shell::FontSet& fonts, ImFont* base, glm::vec2 top_left, shell::Color color,
               std::string_view formula);

}  // namespace headlight::app
