#include "app/widgets/marginal_bars.h"

#include "app/widgets/controls.h"
#include "app/widgets/text.h"
#include "view/number_format.h"

namespace headlight::app {
namespace {

constexpr float kMarginalGap = 6.0F;
constexpr float kLongest = kMarginalRoom - 2.0F * kMarginalGap;
constexpr float kMarginalNumberRoom = 14.0F;

float part_of(float value, float largest) { return largest > 0.0F && value > 0.0F ? std::min(value / largest, 1.0F) : 0.0F; }

}  // namespace

void draw_marginals(Frame& frame, const view::Viewport& viewport, const Marginals& marginals) {
  const shell::Theme& theme = frame.ui.theme();
  const view::Rect cells = viewport.visible();
  const glm::vec2 pointer = to_glm(ImGui::GetIO().MousePos);
  const bool is_pointed_at = ImGui::IsWindowHovered();
  ImDrawList* list = ImGui::GetWindowDrawList();
  // One pixel between bars where there is room for it.
  const glm::vec2 air = glm::vec2(viewport.cell_size().x > 4.0F ? 1.0F : 0.0F, viewport.cell_size().y > 4.0F ? 1.0F : 0.0F);

  const view::Rect beside{.origin = {cells.end().x + kMarginalGap, cells.origin.y}, .size = {kLongest, cells.size.y}};
  frame.mark("head.given", beside);
  list->PushClipRect({beside.origin.x - 1.0F, beside.origin.y}, beside.end(), true);
  for (std::uint32_t row = 0; row < marginals.given.size(); ++row) {
    const view::Rect cell = viewport.rect_of({.row = row, .column = 0});
    if (cell.end().y < cells.origin.y || cell.origin.y > cells.end().y) continue;
    const float length = std::round(kLongest * part_of(marginals.given[row], 1.0F));
    fill_rect({beside.origin.x, cell.origin.y}, {beside.origin.x + length, cell.end().y - air.y}, theme.query);
    const bool is_in_row = pointer.y >= cell.origin.y && pointer.y < cell.end().y;
    if (is_pointed_at && is_in_row && beside.contains(pointer)) {
      draw_tooltip(frame, {.origin = {beside.origin.x, cell.origin.y}, .size = {kLongest, cell.size.y}},
                   fmt::format("Query {} gives {} to other tokens of this map: the sum of its row without itself.", row,
                               view::format_exact(marginals.given[row])));
    }
  }
  list->PopClipRect();
  draw_line({beside.origin.x - 1.0F, beside.origin.y}, {beside.origin.x - 1.0F, beside.end().y}, theme.border);

  const view::Rect below{.origin = {cells.origin.x, cells.end().y + kMarginalGap}, .size = {cells.size.x, kLongest}};
  frame.mark("head.received", below);
  const float largest = marginals.received.empty() ? 0.0F : *std::ranges::max_element(marginals.received);
  list->PushClipRect({below.origin.x, below.origin.y - 1.0F}, below.end(), true);
  for (std::uint32_t column = 0; column < marginals.received.size(); ++column) {
    const view::Rect cell = viewport.rect_of({.row = 0, .column = column});
    if (cell.end().x < cells.origin.x || cell.origin.x > cells.end().x) continue;
    const float length = std::round((kLongest - kMarginalNumberRoom) * part_of(marginals.received[column], largest));
    fill_rect({cell.origin.x, below.origin.y}, {cell.end().x - air.x, below.origin.y + length}, theme.key);
    const bool is_in_column = pointer.x >= cell.origin.x && pointer.x < cell.end().x;
    if (is_pointed_at && is_in_column && below.contains(pointer)) {
      draw_tooltip(frame, {.origin = {cell.origin.x, below.origin.y}, .size = {cell.size.x, kLongest}},
                   fmt::format("Key {} receives {} on average from each query.", column,
                               view::format_exact(marginals.received[column])));
    }
  }
  list->PopClipRect();
  draw_line({below.origin.x, below.origin.y - 1.0F}, {below.end().x, below.origin.y - 1.0F}, theme.border);
  ImFont* font = frame.ui.fonts().mono_small;
  const std::string text = fmt::format("received, at most {}", view::format_number(largest, 6));
  if (text_width(font, text) > below.size.x) return;
  put_text(font, {below.origin.x, below.end().y - font_size(font)}, theme.text_dim, text);
}

}  // namespace headlight::app
