#include "app/widgets/color_bar.h"

#include "app/widgets/cell_numbers.h"
#include "app/widgets/controls.h"
#include "app/widgets/text.h"
#include "view/value_scale.h"

namespace headlight::app {
namespace {

constexpr int kStrips = 64;

/// The colours of the values from the axis' low to its high end: to the right, or upwards.
void draw_gradient(ImDrawList* list, const view::Rect& bar, const shell::HeatmapImage& image, const view::ValueLimits& axis,
                   bool is_upright) {
  if (image.color_map.empty()) return;
  const auto color_at = [&](int strip) {
    return color_of(image, view::value_at(axis, image.spread, static_cast<float>(strip) / kStrips));
  };
  for (int strip = 0; strip < kStrips; ++strip) {
    const shell::Color from = color_at(strip);
    const shell::Color to = color_at(strip + 1);
    const float begin = static_cast<float>(strip) / kStrips;
    const float end = static_cast<float>(strip + 1) / kStrips;
    if (is_upright) {
      list->AddRectFilledMultiColor({bar.origin.x, bar.origin.y + bar.size.y * (1.0F - end)},
                                    {bar.end().x, bar.origin.y + bar.size.y * (1.0F - begin)}, to, to, from, from);
    } else {
      list->AddRectFilledMultiColor({bar.origin.x + bar.size.x * begin, bar.origin.y},
                                    {bar.origin.x + bar.size.x * end, bar.end().y}, from, to, to, from);
    }
  }
}

}  // namespace

void draw_small_color_bar(const Frame& frame, const view::Rect& bar, const shell::HeatmapImage& image) {
  ImFont* font = frame.ui.fonts().mono_small;
  draw_gradient(ImGui::GetWindowDrawList(), bar, image, {.low = image.low, .high = image.high}, false);
  const auto put = [&](float value, float position) {
    const std::string text = cell_number(value, 2);
    const float width = text_width(font, text);
    // The ends' labels are inside the bar, the middle's is centred.
    const float x = bar.origin.x + (bar.size.x - width) * position;
    put_text(font, {std::round(x), bar.end().y + 2.0F}, frame.ui.theme().text_dim, text);
  };
  put(image.spread == view::ScaleSpread::Log ? view::log_floor(image.low, image.high) : image.low, 0.0F);
  put(image.high, 1.0F);
  if (image.low < 0.0F && bar.size.x >= 110.0F) put(0.0F, 0.5F);
}

void draw_color_bar(const Frame& frame, const view::Rect& bar, const shell::HeatmapImage& image,
                    const view::ValueLimits& axis, const char* caption) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().mono_small;
  ImFont* words = frame.ui.fonts().small;
  draw_gradient(ImGui::GetWindowDrawList(), bar, image, axis, true);
  outline_rect(bar, theme.border);
  put_text(words, {bar.origin.x, bar.origin.y - font_size(words) - 6.0F}, theme.text_dim, caption);
  const std::vector<view::Tick> ticks = view::make_bar_ticks(axis, image.spread, bar.size.y, font_size(font));
  for (const view::Tick& tick : ticks) {
    const float y = bar.origin.y + bar.size.y * (1.0F - view::position_in(axis, image.spread, tick.value));
    draw_line({bar.end().x, y}, {bar.end().x + 4.0F, y}, theme.text_dim);
    put_text(font, {bar.end().x + 7.0F, std::round(y - font_size(font) * 0.5F)}, theme.text_dim, tick.label);
  }
}

}  // namespace headlight::app
