#include "export/stage_style.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headlight::exporting {

using attention::Stage;

std::string_view value_title(Stage stage) {
  constexpr std::array<std::string_view, attention::kStages> kTitles = {
      "input",        "query vector",     "key vector",  "value vector", "score q · k", "scaled score",
      "masked score", "attention weight", "head output", "merged heads", "output"};
  return kTitles[static_cast<std::size_t>(stage)];
}

std::string_view row_title(Stage stage) {
  if (attention::is_map(stage)) return "query";
  return stage == Stage::K || stage == Stage::V ? "key token" : "token";
}

std::string_view column_title(Stage stage) { return attention::is_map(stage) ? "key" : "feature"; }

FigureStyle style_for(Stage stage, FigureStyle style) {
  if (stage == Stage::Weights) return style;
  style.color_map = view::ColorMap::BlueRed;
  style.scale = view::ScaleKind::Symmetric;
  style.spread = view::ScaleSpread::Linear;
  if (style.limits) {
    const float reach = std::max(std::abs(style.limits->low), std::abs(style.limits->high));
    style.limits = {.low = -reach, .high = reach};
  }
  return style;
}

}  // namespace headlight::exporting
