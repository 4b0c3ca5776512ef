#include "app/widgets/map_cell.h"

#include "app/widgets/cell_numbers.h"
#include "app/widgets/controls.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/text.h"
#include "view/number_format.h"

namespace headlight::app {
namespace {

/// Signed: the middle of the colours is 0, their ends are ± `largest`. Else they go from 0 to `largest`.
shell::Color color_of(const State& state, const MapCell& cell) {
  const double share = cell.largest > 0.0 ? std::clamp(*cell.value / cell.largest, -1.0, 1.0) : 0.0;
  const std::span<const std::uint32_t> colors = cell.is_signed ? signed_colors() : weight_colors(state);
  const double place = cell.is_signed ? share * 0.5 + 0.5 : std::max(share, 0.0);
  const double index = place * static_cast<double>(colors.size() - 1);
  return colors[static_cast<std::size_t>(std::lround(index))] | 0xFF000000U;
}

/// How many decimals fit every cell of this size; none: no number fits, or the user wants none.
std::optional<std::uint32_t> decimals_for(const Frame& frame, glm::vec2 cell) {
  if (!frame.state.view.show_numbers || font_size(frame.ui.fonts().mono_small) > cell.y) return std::nullopt;
  for (const std::uint32_t decimals : {2U, 1U}) {
    if (text_width(frame.ui.fonts().mono_small, view::format_fixed(-8.88F, decimals)) + 2.0F <= cell.x) return decimals;
  }
  return std::nullopt;
}

void draw_number(const Frame& frame, double value, shell::Color ground, const view::Rect& box) {
  const std::optional<std::uint32_t> decimals = decimals_for(frame, box.size);
  if (!decimals) return;
  ImFont* font = frame.ui.fonts().mono_small;
  const std::string number = view::format_fixed(static_cast<float>(value), *decimals);
  put_text(font,
           {std::round(box.origin.x + (box.size.x - text_width(font, number)) * 0.5F),
            std::round(box.origin.y + (box.size.y - font_size(font)) * 0.5F)},
           readable_on(ground), number);
}

}  // namespace

void draw_map_cell(const Frame& frame, const MapCell& cell) {
  const shell::Theme& theme = frame.ui.theme();
  const bool has_color = cell.value && std::isfinite(*cell.value);
  const shell::Color ground = has_color ? color_of(frame.state, cell) : theme.missing;
  fill_rect(cell.box, ground, 2.0F);
  if (cell.value) draw_number(frame, *cell.value, ground, cell.box);
  if (!cell.is_selected && !cell.is_hovered) return;
  outline_rect(cell.box.origin - 1.0F, cell.box.end() + 1.0F, cell.is_selected ? theme.accent : theme.text_dim, 2.0F,
               cell.is_selected ? 2.0F : 1.0F);
}

}  // namespace headlight::app
