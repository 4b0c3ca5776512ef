#include "app/widgets/plot_axes.h"

#include "app/widgets/controls.h"

namespace headlight::app {

void draw_plot_axes(const Frame& frame, const chart::Rect& area, const chart::PlotTicks& x, const chart::PlotTicks& y) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::Color line = shell::with_alpha(theme.border, 110);
  ImFont* font = frame.ui.fonts().small;
  outline_rect(area, theme.border);
  for (const auto& [place, label] : x) {
    const float at = area.origin.x + area.size.x * place;
    draw_line({at, area.origin.y}, {at, area.end().y}, line);
    put_text(font, {std::round(at - text_width(font, label) * 0.5F), area.end().y + 3.0F}, theme.text_dim, label);
  }
  for (const auto& [place, label] : y) {
    const float at = area.end().y - area.size.y * place;
    draw_line({area.origin.x, at}, {area.end().x, at}, line);
    put_text(font, {area.origin.x - text_width(font, label) - 5.0F, std::round(at - font_size(font) * 0.5F)}, theme.text_dim,
             label);
  }
}

}  // namespace headlight::app
