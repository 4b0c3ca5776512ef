#include "export/color_bar.h"

#include <algorithm>
#include <cmath>

namespace headlight::exporting {
namespace {

constexpr float kBarWidth = 12.0F;
constexpr float kTickLength = 4.0F;
constexpr float kTickSize = 10.0F;

}  // namespace

ColorBar::ColorBar(const view::ValueScale& scale, const FigureStyle& style, const std::string& title, float height,
                   const TextMetrics& metrics)
    : scale_(scale), color_map_(style.color_map), title_(printable(title)) {
  if (scale.kind == view::ScaleKind::PerRow) title_ += " ÷ row maximum";
  height_ = std::max({height, 72.0F, metrics.width(title_, kTextSize) + 4.0F});
  ticks_ = view::make_bar_ticks({.low = scale.low, .high = scale.high}, scale.spread, height_, line_height(kTickSize));
  for (const view::Tick& tick : ticks_) tick_width_ = std::max(tick_width_, metrics.width(tick.label, kTickSize));
  width_ = kBarWidth + kTickLength + 3.0F + tick_width_ + 6.0F + line_height(kTextSize);
}

void ColorBar::draw(Canvas& canvas, glm::vec2 top_left, const Paper& paper) const {
  const Rect bar = {top_left, {kBarWidth, height_}};
  // Each step reaches down to the end and is painted over by the next: no seams in any renderer.
  const auto steps = static_cast<std::uint32_t>(std::min(256.0F, std::round(height_)));
  for (std::uint32_t i = 0; i < steps; ++i) {
    const float begin = std::round(height_ * static_cast<float>(i) / static_cast<float>(steps) * 2.0F) / 2.0F;
    const float position = 1.0F - (static_cast<float>(i) + 0.5F) / static_cast<float>(steps);
    canvas.fill({{bar.origin.x, bar.origin.y + begin}, {bar.size.x, bar.size.y - begin}}, view::color(color_map_, position));
  }
  canvas.frame(bar, paper.outline, 0.75F);
  for (const view::Tick& tick : ticks_) {
    const float y =
        bar.end().y - bar.size.y * view::position_in({.low = scale_.low, .high = scale_.high}, scale_.spread, tick.value);
    canvas.line({bar.end().x, y}, {bar.end().x + kTickLength, y}, paper.outline, 0.75F);
    canvas.text({bar.end().x + kTickLength + 3.0F + tick_width_, y + kHalfCapital * kTickSize}, tick.label,
                {.size = kTickSize, .color = paper.muted, .align = TextAlign::End});
  }
  canvas.text({top_left.x + width_ - 2.0F, bar.center().y}, title_,
              {.size = kTextSize, .color = paper.ink, .align = TextAlign::Middle, .degrees = 90.0F});
}

view::ValueScale scale_of(const FigureMap& map, const FigureStyle& style) {
  view::ValueScale scale = view::make_scale(style.scale, map.values, map.masked);
  scale.spread = style.spread;
  if (style.limits) {
    scale.low = style.limits->low;
    scale.high = style.limits->high;
  }
  return scale;
}

}  // namespace headlight::exporting
