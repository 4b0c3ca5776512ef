#include "app/views/patching/patching_figure.h"

#include <limits>

#include "export/figure.h"

namespace headlight::app {
std::unique_ptr<exporting::Drawing> make_patching_figure(const PatchingFigure& shown) {
  const PatchEffects& effects = shown.effects;
  const bool is_heads = is_of_heads(shown.choices.map);
  const auto layers = static_cast<std::uint32_t>(effects.layers.size()),
             others = static_cast<std::uint32_t>(effects.columns);
  exporting::HeatmapFigure figure{
      .title = shown.title, .subtitle = shown.subtitle, .map = {}, .rows = {}, .columns = {}, .style = {}};
  figure.map.rows = is_heads ? layers : others;
  figure.map.columns = is_heads ? others : layers;
  for (std::uint32_t row = 0; row < figure.map.rows; ++row) {
    for (std::uint32_t column = 0; column < figure.map.columns; ++column) {
      const std::optional<double> value =
          effects.recovery_at(is_heads ? row : column, is_heads ? column : row, shown.choices.measure);
      figure.map.values.push_back(value ? static_cast<float>(*value) : std::numeric_limits<float>::quiet_NaN());
    }
  }
  exporting::FigureAxis of_layers{.title = "layer", .tokens = {}};
  for (const std::uint32_t layer : effects.layers) of_layers.tokens.push_back(fmt::format("{}", layer));
  exporting::FigureAxis of_others{.title = is_heads ? "head" : "token", .tokens = shown.labels};
  figure.rows = is_heads ? of_layers : of_others;
  figure.columns = is_heads ? of_others : of_layers;
  figure.value_title = "recovery";
  figure.marks_empty_rows = false;
  figure.style = exporting::diverging({});
  return exporting::make_drawing(std::move(figure), exporting::DrawingFormat::Svg);
}

}  // namespace headlight::app
