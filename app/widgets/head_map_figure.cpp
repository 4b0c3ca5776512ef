#include "app/widgets/head_map_figure.h"

#include "app/cells/stage_text.h"
#include "export/panels_figure.h"

namespace headlight::app {

namespace {

/// The layers of one kind of attention.
exporting::HeatmapFigure panel_of(const HeadMapFigure& shown, std::span<const HeadMapLayer> layers) {
  std::size_t heads = 0;
  for (const HeadMapLayer& layer : layers) heads = std::max(heads, layer.values.size());
  exporting::HeatmapFigure panel;
  panel.map.rows = static_cast<std::uint32_t>(layers.size());
  panel.map.columns = static_cast<std::uint32_t>(heads);
  panel.rows = {.title = "layer", .tokens = {}};
  panel.columns = {.title = "head", .tokens = {}};
  for (const HeadMapLayer& layer : layers) {
    panel.rows.tokens.push_back(fmt::format("{}", layer.block.layer.value));
    for (std::size_t head = 0; head < heads; ++head) {
      const bool is_known = head < layer.values.size() && layer.values[head];
      panel.map.values.push_back(is_known ? static_cast<float>(*layer.values[head]) : 0.0F);
      panel.map.masked.push_back(is_known ? 0 : 1);
    }
  }
  for (std::size_t head = 0; head < heads; ++head) panel.columns.tokens.push_back(fmt::format("{}", head));
  panel.value_title = shown.value_title;
  panel.masked_title = "no value";
  panel.marks_empty_rows = false;
  panel.style = {.color_map = shown.color_map, .scale = view::ScaleKind::Maximum};
  if (shown.is_signed) panel.style = exporting::diverging(panel.style);
  return panel;
}

}  // namespace

std::unique_ptr<exporting::Drawing> make_head_map_figure(const HeadMapFigure& shown) {
  exporting::PanelsFigure figure{.title = shown.title, .subtitle = shown.subtitle, .panels = {}, .style = {}};
  std::vector<model::BlockKind> kinds;
  for (auto begin = shown.layers.begin(); begin != shown.layers.end();) {
    const model::BlockKind kind = begin->block.kind;
    const auto end =
        std::find_if(begin, shown.layers.end(), [&](const HeadMapLayer& layer) { return layer.block.kind != kind; });
    exporting::HeatmapFigure panel = panel_of(shown, std::span(begin, end));
    begin = end;
    if (panel.map.columns == 0) continue;
    figure.panels.push_back(std::move(panel));
    kinds.push_back(kind);
  }
  if (figure.panels.empty()) return nullptr;
  for (std::size_t i = 0; kinds.size() > 1 && i < kinds.size(); ++i) figure.panels[i].title = kind_text(kinds[i]);
  return exporting::make_drawing(std::move(figure));
}

}  // namespace headlight::app
