#include "panels/head_panel.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "panels/brush.h"
#include "panels/head_header.h"
#include "panels/ink.h"
#include "panels/map_axes.h"
#include "panels/map_input.h"
#include "panels/map_picture.h"
#include "panels/map_tooltip.h"
#include "panels/thumbnail.h"

namespace headlight::app {
namespace {

constexpr float kBarRoom = 104.0F;  // right of the map: colour bar, and the last slanted labels
constexpr float kBarWidth = 14.0F;
constexpr float kBarDrop = 24.0F;  // the bar's caption stands beside the map, below the slanted labels

AxisTokens axis_tokens(const Frame& frame, const model::TokenBatch& tokens, std::uint32_t count, attention::KeyRange real) {
  const std::uint32_t batch = frame.state.selection.batch;
  return {.texts = batch < tokens.texts.size() ? &tokens.texts[batch] : nullptr, .count = count, .real = real};
}

/// Labels of what the pointer is over, on the map or on a token's chip, else of the pinned cell.
MarkedLabels marked_labels(const Frame& frame) {
  const Transient& transient = frame.transient;
  if (transient.hovered) return {.query = transient.hovered->query, .key = transient.hovered->key};
  if (transient.pointed_query || transient.pointed_key) {
    return {.query = transient.pointed_query, .key = transient.pointed_key};
  }
  const std::optional<attention::Cell>& pinned = frame.state.view.pinned;
  return pinned ? MarkedLabels{.query = pinned->query, .key = pinned->key} : MarkedLabels{};
}

/// Outlines a row and a column over the whole map, or one of them; thin ones are widened to be seen.
void draw_crosshair(const view::Viewport& viewport, std::optional<std::uint32_t> query, std::optional<std::uint32_t> key,
                    shell::Color color) {
  const view::Rect cells = viewport.visible();
  const view::Rect at = viewport.rect_of({.row = query.value_or(0), .column = key.value_or(0)});
  const float more_x = std::max(3.0F - at.width, 0.0F) * 0.5F;
  const float more_y = std::max(3.0F - at.height, 0.0F) * 0.5F;
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImGui::PushClipRect(ImVec2(cells.x - 1.0F, cells.y - 1.0F), ImVec2(cells.right() + 1.0F, cells.bottom() + 1.0F), true);
  if (query && *query < viewport.rows()) {
    list->AddRect(ImVec2(cells.x - 3.0F, at.y - more_y), ImVec2(cells.right() + 3.0F, at.bottom() + more_y), color, 0.0F, 0,
                  1.5F);
  }
  if (key && *key < viewport.columns()) {
    list->AddRect(ImVec2(at.x - more_x, cells.y - 3.0F), ImVec2(at.right() + more_x, cells.bottom() + 3.0F), color, 0.0F, 0,
                  1.5F);
  }
  ImGui::PopClipRect();
}

void draw_hatched_sample(const shell::Theme& theme, ImVec2 low) {
  constexpr float kEdge = 14.0F;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 high(low.x + kEdge, low.y + kEdge);
  list->AddRectFilled(low, high, theme.hatch_ground);
  ImGui::PushClipRect(low, high, true);
  for (float shift = -kEdge; shift < kEdge; shift += 5.0F) {
    list->AddLine(ImVec2(low.x + shift, high.y), ImVec2(low.x + shift + kEdge, low.y), theme.hatch, 1.5F);
  }
  ImGui::PopClipRect();
  list->AddRect(low, high, theme.border);
}

/// Below the colour bar: what the stripes mean, and the zoom while there is one.
void draw_legend(const Frame& frame, const view::Viewport& viewport, bool has_masked_cells, float x, float y) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (has_masked_cells) {
    draw_hatched_sample(theme, ImVec2(x, y));
    list->AddText(font, font_size(font), ImVec2(x + 20.0F, y), theme.text_dim, "masked");
    y += 26.0F;
  }
  if (viewport.zoom() > 1.001F) {
    const std::string text = fmt::format("zoom {:.1f}×", viewport.zoom());
    list->AddText(font, font_size(font), ImVec2(x, y), theme.text, text.c_str());
    list->AddText(font, font_size(font), ImVec2(x, y + 17.0F), theme.text_dim, "0 fits");
  }
}

void draw_map(Frame& frame, const AxisTokens& queries, const AxisTokens& keys) {
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const ImVec2 size = ImGui::GetContentRegionAvail();
  const view::Rect room{.x = origin.x, .y = origin.y, .width = size.x - kBarRoom, .height = size.y - 4.0F};
  const AxisMargins margins = measure_axes(frame, queries, keys, room);
  const MapRoom map_room{.area = {.x = std::round(room.x + margins.left),
                                  .y = std::round(room.y + margins.top),
                                  .width = std::max(room.width - margins.left, 16.0F),
                                  .height = std::max(room.height - margins.top, 16.0F)},
                         .rows = queries.count,
                         .columns = keys.count};
  const view::Viewport viewport = handle_map_input(frame, map_room);
  const view::Rect cells = viewport.visible();
  frame.mark("head.map", {.x = cells.x, .y = cells.y, .width = cells.width, .height = cells.height});

  MapPicture picture(frame, viewport);
  picture.draw();
  const std::optional<attention::Cell>& hovered = frame.transient.hovered;
  const std::optional<attention::Cell>& pinned = frame.state.view.pinned;
  if (pinned) draw_crosshair(viewport, pinned->query, pinned->key, frame.ui.theme().accent);
  if (hovered) draw_crosshair(viewport, hovered->query, hovered->key, frame.ui.theme().crosshair);
  if (!hovered) {
    draw_crosshair(viewport, frame.transient.pointed_query, frame.transient.pointed_key, frame.ui.theme().crosshair);
  }
  draw_axes(frame, viewport, margins, queries, keys, marked_labels(frame));
  if (picture.is_known()) {
    const float x = std::round(cells.right() + 18.0F);
    const float height = std::clamp(cells.height - kBarDrop, 80.0F, 340.0F);
    picture.draw_bar({.x = x, .y = cells.y + kBarDrop, .width = kBarWidth, .height = height});
    draw_legend(frame, viewport, picture.has_masked_cells(), x, cells.y + kBarDrop + height + 18.0F);
  }
  if (hovered) draw_map_tooltip(frame, *hovered);
  if (hovered && frame.transient.paints) draw_brush(frame, ImGui::GetIO().MousePos);
}

}  // namespace

void draw_head_panel(Frame& frame) {
  const Selection& selection = frame.state.selection;
  const auto shape = frame.result.shapes.find(selection.block);
  if (shape == frame.result.shapes.end() || !frame.result.input) return;
  const model::BlockKind kind = selection.block.kind;
  draw_head_header(frame);
  draw_map(frame, axis_tokens(frame, frame.result.input->queries(kind), shape->second.queries, query_range(frame, kind)),
           axis_tokens(frame, frame.result.input->keys(kind), shape->second.keys, key_range(frame, kind)));
}

}  // namespace headlight::app
