#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/exports/numbers.h"

namespace headlight::app {

/// How figures look: an object, a member for each option.
nlohmann::json describe_style(const ExportOptions& options);

/// A session file's text with the member "figure": what the figure shows, and how. Empty where the options have no session.
std::string figure_session(const ExportOptions& options, const ExportBlocks& blocks, const MatrixRef& matrix,
                           const FigureKind& kind);

/// The options that made a figure, without inputs, formats and folder. `baseline`: of the figure's session, what a figure of
/// a difference subtracts. Throws Error naming the member that is wrong.
ExportOptions options_of_figure(const nlohmann::json& figure, const SharedValue<BaselineRun>& baseline = {});

}  // namespace headlight::app
