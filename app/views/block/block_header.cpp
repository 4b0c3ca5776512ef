#include "app/views/block/block_parts.h"

#include "app/widgets/cell_grid.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

constexpr float kHeaderHeight = 88.0F;
constexpr float kChartWidth = 230.0F;
constexpr float kMinChartRoom = 620.0F;  // narrower: no chart
// The sizes of a low header: its height, the top of its second line, and the width of the heads there.
constexpr float kLowHeader = 59.0F, kLowAbout = 34.0F, kLowHeads = 240.0F;
constexpr float kHeaderGap = 16.0F;
constexpr const char* kHeads = "heads";

/// Returns the width of a head's square with the gap after it.
float head_edge(std::uint32_t heads, float width) {
  return std::clamp(width / static_cast<float>(std::max(heads, 1U)), 3.0F, 20.0F);
}

/// Draws a head's square: filled where the head is selected, else hollow.
void draw_square(glm::vec2 low, glm::vec2 high, bool is_selected, shell::Color color, shell::Color fill) {
  fill_rect(low, high, is_selected ? color : fill, 1.0F);
  if (!is_selected) outline_rect(low, high, color, 1.0F);
}

/// Returns the width of the word before the heads' squares.
float heads_word(const Frame& frame) { return text_width(frame.ui.fonts().small, kHeads) + 8.0F; }

/// Draws what the colours mean between two x: of signed matrices, and of the weights where there is room for that.
void draw_legend(const Frame& frame, glm::vec2 at, float end) {
  constexpr const char* kEach = "\u00B1 range the same for all heads";
  constexpr float kSignsWidth = 132.0F;
  ImFont* font = frame.ui.fonts().small;
  const float words = text_width(font, kEach) + 10.0F;
  if (at.x + words + kSignsWidth <= end) {
    put_text(font, at, frame.ui.theme().text_dim, kEach);
    at.x += words;
  }
  put_scale(frame, scale_of_signs(frame), at, std::min(at.x + kSignsWidth, end));
  put_scale(frame, {.colors = weight_colors(frame.state), .low = "A:  0", .high = "largest"},
            {at.x + kSignsWidth + kHeaderGap, at.y}, end);
}

/// Draws one square for each query head, over the KV heads where several read one, the selected one filled; a click selects.
void draw_head_row(Frame& frame, const HeadSubject& subject, glm::vec2 at, float width) {
  const shell::Theme& theme = frame.ui.theme();
  const inference::BlockShape& shape = subject.geometry.shape;
  ImFont* small = frame.ui.fonts().small;
  put_text(small, at, theme.text_dim, kHeads);
  at.x += heads_word(frame);
  width -= heads_word(frame);
  const std::uint32_t kv_heads = std::max(shape.kv_heads, 1U);
  const float edge = head_edge(shape.heads, width);
  const float square = std::max(edge - 2.0F, 1.0F);
  for (std::uint32_t head = 0; head < shape.heads; ++head) {
    const glm::vec2 low = at + glm::vec2(static_cast<float>(head) * edge, 0.0F);
    const bool is_selected = head == subject.geometry.head;
    draw_square(low, low + square, is_selected, theme.query, theme.query_fill);
    const std::string number = fmt::format("{}", head);
    const glm::vec2 size(text_width(small, number), font_size(small));
    if (size.x + 2.0F > square || size.y > square + 1.0F) continue;
    put_text(small, glm::round(low + (square - size) * 0.5F),
             shell::text_on(is_selected ? theme.query : theme.query_fill, theme.text), number);
  }
  const std::uint32_t heads_of_one = shape.heads / kv_heads;
  const float shared = edge * static_cast<float>(heads_of_one);
  for (std::uint32_t head = 0; kv_heads < shape.heads && head < kv_heads; ++head) {
    const glm::vec2 low = at + glm::vec2(static_cast<float>(head) * shared, square + 2.0F);
    const bool is_selected = head == subject.geometry.head / std::max(heads_of_one, 1U);
    const float half = (shared - 2.0F) * 0.5F;
    draw_square(low, {low.x + half, low.y + 5.0F}, is_selected, theme.key, theme.key_fill);
    draw_square({low.x + half, low.y}, {low.x + shared - 2.0F, low.y + 5.0F}, is_selected, theme.value, theme.value_fill);
  }
  ImGui::SetCursorScreenPos(at);
  if (click_area("heads", ImVec2(edge * static_cast<float>(shape.heads), square + 8.0F))) {
    const float across = (ImGui::GetIO().MousePos.x - at.x) / edge;
    const auto head = static_cast<std::uint32_t>(std::clamp(across, 0.0F, static_cast<float>(shape.heads - 1)));
    select_head(frame.state.selection, {subject.block, head});
  }
  mark_pointer_item(frame, "block.heads",
                    "A click selects a head. Below, where several read one: the KV heads, red keys and green values.");
}

}  // namespace

void draw_block_header(Frame& frame, const HeadSubject& subject, std::uint32_t token, bool is_low) {
  const shell::FontSet& fonts = frame.ui.fonts();
  const glm::vec2 at = cursor_position();
  const float width = width_left();
  const bool has_chart = !is_low && width >= kMinChartRoom;
  const inference::BlockShape& shape = subject.geometry.shape;
  draw_view_title(frame, fmt::format("Layer {} · head {}", subject.block.layer.value, subject.geometry.head),
                  is_low ? width - kHeaderTools - kHeaderGap : width);
  const model::AttentionLayer* layer = subject.layer;
  std::string about = kind_name(frame.result, subject.block.kind);
  if (layer && !layer->norms.is_empty()) {
    about += layer->norms.after ? " · post-norm" : layer->norms.before ? " · pre-norm" : " · branches normed";
  }
  if (layer && layer->is_parallel) about += " · MLP parallel to attention";
  const std::uint32_t kv_heads = std::max(shape.kv_heads, 1U);
  if (kv_heads < shape.heads) about += fmt::format(" · {} heads share {} KV heads", shape.heads, kv_heads);
  const float squares = head_edge(shape.heads, kLowHeads) * static_cast<float>(shape.heads);
  const float heads = is_low ? squares + heads_word(frame) : 0.0F;
  const float beside = is_low ? heads : has_chart ? kChartWidth : 0.0F;
  float text_room = width - (beside > 0.0F ? beside + kHeaderGap : 0.0F);
  if (is_low) ImGui::SetCursorScreenPos(at + glm::vec2(0.0F, kLowAbout));
  if (!has_chart) {
    const glm::vec2 line = cursor_position();
    text_room -= draw_largest_link(frame, "largest |x| \u2192", line + glm::vec2(text_room, 0.0F)) + kHeaderGap;
    ImGui::SetCursorScreenPos(line);
  }
  const std::string shown = fit_text(fonts.small, about, text_room);
  const glm::vec2 key = cursor_position() + glm::vec2(text_width(fonts.small, shown) + kHeaderGap, 0.0F);
  const float end = cursor_position().x + text_room;
  write_text(fonts.small, frame.ui.theme().text_dim, shown);
  if (!shape.only_weights) draw_legend(frame, key, end);
  if (is_low) {
    draw_head_row(frame, subject, at + glm::vec2(width - heads, kLowAbout - 3.0F), kLowHeads + heads_word(frame));
  } else {
    draw_head_row(frame, subject, at + glm::vec2(0.0F, kHeaderHeight - 32.0F),
                  width - (has_chart ? kChartWidth + kHeaderGap : 0.0F));
  }
  if (has_chart) {
    draw_residual_chart(frame, {.origin = {at.x + width - kChartWidth, at.y}, .size = {kChartWidth, kHeaderHeight}}, token);
  }
  const float above = is_low ? kLowHeader : kHeaderHeight;
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy(ImVec2(width, above - ImGui::GetStyle().ItemSpacing.y));
  place_sentence(frame, 0.0F, has_chart ? width - kChartWidth - kHeaderGap : 0.0F);
}

}  // namespace headlight::app
