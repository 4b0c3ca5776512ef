#include "app/widgets/head_map_figure.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "export/panels_figure.h"

namespace headlight::app {

std::unique_ptr<exporting::Drawing> make_head_map_figure(const HeadMapFigure& shown) {
  std::size_t heads = 0;
  for (const HeadMapLayer& layer : shown.layers) heads = std::max(heads, layer.values.size());
  if (heads == 0) return nullptr;
  exporting::PanelsFigure figure{
      .title = shown.title, .subtitle = shown.subtitle, .panels = {}, .style = {.is_dark = shown.is_dark}};
  exporting::HeatmapFigure& panel = figure.panels.emplace_back();
  panel.map.rows = static_cast<std::uint32_t>(shown.layers.size());
  panel.map.columns = static_cast<std::uint32_t>(heads);
  panel.rows = {.title = "layer", .tokens = {}};
  panel.columns = {.title = "head", .tokens = {}};
  for (const HeadMapLayer& layer : shown.layers) {
    panel.rows.tokens.push_back(fmt::format("{}", layer.block.layer.value));
    for (std::size_t head = 0; head < heads; ++head) {
      const bool is_known = head < layer.values.size() && layer.values[head];
      panel.map.values.push_back(is_known ? static_cast<float>(*layer.values[head])
                                          : std::numeric_limits<float>::quiet_NaN());
    }
  }
  for (std::size_t head = 0; head < heads; ++head) panel.columns.tokens.push_back(fmt::format("{}", head));
  panel.value_title = shown.value_title;
  panel.marks_empty_rows = false;
  panel.style = {.color_map = shown.color_map, .scale = view::ScaleKind::Maximum, .is_dark = shown.is_dark};
  if (shown.is_signed) panel.style = exporting::diverging(panel.style);
  return exporting::make_drawing(std::move(figure));
}

}  // namespace headlight::app
