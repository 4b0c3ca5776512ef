#include "app/widgets/signed_bars.h"

#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/shown_tile.h"
#include "view/number_format.h"

namespace headlight::app {
namespace {

constexpr float kBarRowHeight = 22.0F;
constexpr float kBarGap = 8.0F;
constexpr float kBarNumberRoom = 62.0F;
constexpr float kMaxBarLabel = 0.42F;  // of the width
constexpr float kMinLabel = 60.0F;

/// Where the parts of every row are.
struct BarColumns {
  float label = 0.0F;            ///< width
  float zero = 0.0F;             ///< x of the zero line, from the left edge
  double units_per_value = 0.0;  ///< UI units
};

BarColumns measure(const SignedBars& bars, float width) {
  double low = 0.0, high = 0.0;
  for (const double value : bars.values) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (high - low < bars.least_end) high = low + bars.least_end;
  BarColumns columns;
  columns.label = std::max(std::floor(std::min(width * kMaxBarLabel, 190.0F)), kMinLabel);
  const float room = std::max(width - columns.label - kBarNumberRoom - 2.0F * kBarGap, 20.0F);
  columns.units_per_value = high - low > 0.0 ? static_cast<double>(room) / (high - low) : 0.0;
  columns.zero = columns.label + kBarGap + static_cast<float>(-low * columns.units_per_value);
  return columns;
}

void draw_row(Frame& frame, const SignedBars& bars, std::size_t row, const BarColumns& columns, const view::Rect& box,
              bool is_hovered) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  if (is_hovered || bars.chosen == row) {
    fill_rect(box, bars.chosen == row ? theme.active : theme.hover, 3.0F);
  }
  const float y = box.origin.y + std::round((box.size.y - font_size(font)) * 0.5F);
  const std::string label = bars.label(row);
  frame.ui.ensure_glyphs(label);
  const std::string fitted = fit_text(font, label, columns.label);
  put_text(font, {box.origin.x + columns.label - text_width(font, fitted), y}, theme.text, fitted);
  const double value = bars.values[row];
  const float zero = box.origin.x + columns.zero;
  const float end = zero + static_cast<float>(value * columns.units_per_value);
  const shell::Color color = bars.has_signs ? signed_colors()[value < 0.0 ? 40 : 215] | 0xFF000000U : theme.output;
  if (std::abs(end - zero) >= 0.5F) {
    fill_rect({std::min(zero, end), box.origin.y + 4.0F}, {std::max(zero, end), box.end().y - 4.0F}, color, 2.0F);
  }
  const std::string number = bars.has_signs ? signed_text(value) : view::format_fixed(static_cast<float>(value), 3);
  put_text(font, {box.end().x - text_width(font, number) - 2.0F, y}, theme.text, number);
}

}  // namespace

std::string signed_text(double value) {
  const std::string text = view::format_fixed(static_cast<float>(value), 3);
  const bool is_nothing = text.find_first_of("123456789") == std::string::npos && std::isfinite(value);
  return value > 0.0 && !is_nothing ? "+" + text : text;
}

std::optional<std::size_t> draw_signed_bars(Frame& frame, const SignedBars& bars) {
  const float width = ImGui::GetContentRegionAvail().x;
  const BarColumns columns = measure(bars, width);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float height = static_cast<float>(bars.values.size()) * kBarRowHeight;
  std::optional<std::size_t> clicked;
  const float zero = std::round(origin.x + columns.zero) + 0.5F;
  draw_line({zero, origin.y}, {zero, origin.y + height}, frame.ui.theme().border);
  const shell::ControlGroup group(frame.ui.keyboard(), "bars");
  draw_rows(bars.values.size(), kBarRowHeight, width, [&](std::size_t row, float y) {
    const view::Rect box{.origin = {origin.x, y}, .size = {width, kBarRowHeight}};
    ImGui::SetCursorScreenPos(box.origin);
    ImGui::PushID(static_cast<int>(row));
    // Ctrl and a click ask where the number is from.
    if (click_area("bar", box.size) && !ImGui::GetIO().KeyCtrl) clicked = row;
    ImGui::PopID();
    if (bars.point && ImGui::IsItemHovered()) bars.point(row);
    const bool is_opened = bars.open && ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
    const std::string name = fmt::format("{}.{}", bars.name, row);
    mark_last_item(frame, name, bars.about(row).c_str());
    draw_row(frame, bars, row, columns, box, ImGui::IsItemHovered());
    if (is_opened) bars.open(row);
  });
  return clicked;
}

}  // namespace headlight::app
