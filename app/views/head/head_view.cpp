#include "app/views/head/head_view.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/quantities/shown_map.h"
#include "app/views/head/axis_locks.h"
#include "app/views/head/head_figure.h"
#include "app/views/head/head_header.h"
#include "app/views/head/map_heatmap.h"
#include "app/views/head/map_input.h"
#include "app/views/head/map_legend.h"
#include "app/views/head/map_navigation.h"
#include "app/views/head/map_tooltip.h"
#include "app/views/head/minimap.h"
#include "app/views/head/paint_marks.h"
#include "app/widgets/brush.h"
#include "app/widgets/ink.h"
#include "app/widgets/map_axes.h"
#include "app/widgets/marginal_bars.h"
#include "app/widgets/patch_picture.h"
#include "app/widgets/row_names.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

AxisTokens axis_tokens(const Frame& frame, const model::TokenBatch& tokens, std::uint32_t count, attention::KeyRange real) {
  const std::uint32_t batch = frame.state.selection.batch;
  return {.texts = batch < tokens.texts.size() ? &tokens.texts[batch] : nullptr,
          .count = count,
          .real = real,
          .name = "key",
          .has_indices = frame.transient.aim.shows_indices};
}

/// Labels of what the pointer is over, on the map or on a token's chip, else of the pinned cell.
MarkedLabels marked_labels(const Frame& frame) {
  const Transient& transient = frame.transient;
  if (transient.hovered) return {.query = transient.hovered->query, .key = transient.hovered->key};
  if (transient.pointed_query || transient.pointed_key) {
    return {.query = transient.pointed_query, .key = transient.pointed_key};
  }
  const std::optional<attention::Cell>& pinned = frame.state.view.pinned;
  if (const std::optional<LockedToken>& locked = frame.state.view.locked; locked && !pinned) {
    return locked->side == MapSide::Query ? MarkedLabels{.query = locked->token, .key = {}}
                                          : MarkedLabels{.query = {}, .key = locked->token};
  }
  return pinned ? MarkedLabels{.query = pinned->query, .key = pinned->key} : MarkedLabels{};
}

/// Outlines a row and a column over the whole map, or one of them; thin ones are widened to be seen.
void draw_crosshair(const view::Viewport& viewport, std::optional<std::uint32_t> query, std::optional<std::uint32_t> key,
                    shell::Color color) {
  const view::Rect cells = viewport.visible();
  const view::Rect at = viewport.rect_of({.row = query.value_or(0), .column = key.value_or(0)});
  const glm::vec2 more = glm::max(3.0F - at.size, 0.0F) * 0.5F;
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImGui::PushClipRect(to_imgui(cells.origin - 1.0F), to_imgui(cells.end() + 1.0F), true);
  if (query && *query < viewport.rows()) {
    list->AddRect({cells.origin.x - 3.0F, at.origin.y - more.y}, {cells.end().x + 3.0F, at.end().y + more.y}, color, 0.0F, 0,
                  1.5F);
  }
  if (key && *key < viewport.columns()) {
    list->AddRect({at.origin.x - more.x, cells.origin.y - 3.0F}, {at.end().x + more.x, cells.end().y + 3.0F}, color, 0.0F, 0,
                  1.5F);
  }
  ImGui::PopClipRect();
}

/// The locked row or column, and the dragged range.
void draw_choices(const Frame& frame, const view::Viewport& viewport) {
  const shell::Color color = frame.ui.theme().accent;
  if (const std::optional<LockedToken>& locked = frame.state.view.locked) {
    const bool is_row = locked->side == MapSide::Query;
    draw_crosshair(viewport, is_row ? std::optional(locked->token) : std::nullopt,
                   is_row ? std::nullopt : std::optional(locked->token), color);
  }
  const std::optional<CellRange>& range = frame.transient.range;
  if (!range) return;
  const view::Rect cells = viewport.visible();
  const view::Rect first = viewport.rect_of({.row = range->first.query, .column = range->first.key});
  const view::Rect last = viewport.rect_of({.row = range->last.query, .column = range->last.key});
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImGui::PushClipRect(to_imgui(cells.origin - 2.0F), to_imgui(cells.end() + 2.0F), true);
  list->AddRectFilled(to_imgui(first.origin), to_imgui(last.end()), shell::with_alpha(color, 40));
  list->AddRect(to_imgui(first.origin), to_imgui(last.end()), color, 0.0F, 0, 2.0F);
  ImGui::PopClipRect();
}

/// A lesson asks what is in them: lines between the cells and nothing else.
void draw_blank_cells(const Frame& frame, const view::Viewport& viewport) {
  const view::Rect cells = viewport.visible();
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(to_imgui(cells.origin), to_imgui(cells.end()), frame.ui.theme().field);
  const view::Region region = viewport.visible_region();
  for (std::uint32_t row = region.row; row <= region.row + region.rows; ++row) {
    const float y = viewport.rect_of({.row = row, .column = region.column}).origin.y;
    list->AddLine({cells.origin.x, y}, {cells.end().x, y}, frame.ui.theme().border);
  }
  for (std::uint32_t column = region.column; column <= region.column + region.columns; ++column) {
    const float x = viewport.rect_of({.row = region.row, .column = column}).origin.x;
    list->AddLine({x, cells.origin.y}, {x, cells.end().y}, frame.ui.theme().border);
  }
}

/// The cells that are on screen, wholly or in part.
CellRange visible_cells(const view::Viewport& viewport) {
  const view::Region region = viewport.visible_region();
  const auto last = [](std::uint32_t first, std::uint32_t count) { return first + std::max(count, 1U) - 1; };
  return {.first = {.query = region.row, .key = region.column},
          .last = {.query = last(region.row, region.rows), .key = last(region.column, region.columns)}};
}

void draw_map(Frame& frame, const AxisTokens& queries, const AxisTokens& keys, HeadMemory& memory) {
  const float bars = frame.state.view.shows_marginals && can_group(frame) ? kMarginalRoom : 0.0F;
  const glm::vec2 room = to_glm(ImGui::GetContentRegionAvail()) - glm::vec2(kBarRoom, 4.0F) - bars;
  const glm::vec2 margins = measure_axes(frame, queries, keys, room);
  const view::Region cells = shown_cells(frame, frame.state.selection.block);
  const MapRoom map_room{
      .area = {.origin = glm::round(to_glm(ImGui::GetCursorScreenPos()) + margins), .size = glm::max(room - margins, 16.0F)},
      .rows = queries.count,
      .columns = keys.count,
      .first = {.row = cells.row, .column = cells.column}};
  follow_strongest(frame, map_room.rows, map_room.columns);
  const Minimap minimap(frame, map_room);
  const view::Viewport viewport = handle_map_input(frame, map_room, minimap.area());
  const view::Rect seen = viewport.visible();
  frame.mark("head.map", seen);
  frame.transient.visible = visible_cells(viewport);
  handle_axis_clicks(frame, viewport, margins);

  MapHeatmap heatmap(frame, viewport);
  frame.transient.aim.conceals ? draw_blank_cells(frame, viewport) : heatmap.draw();
  draw_paint_marks(frame, viewport);
  memory.new_row.observe(frame, queries.real.end, ImGui::GetTime());
  memory.new_row.draw(frame, viewport);
  const std::optional<attention::Cell>& hovered = frame.transient.hovered;
  const std::optional<attention::Cell>& pinned = frame.state.view.pinned;
  draw_choices(frame, viewport);
  if (pinned) draw_crosshair(viewport, pinned->query, pinned->key, frame.ui.theme().accent);
  if (hovered) draw_crosshair(viewport, hovered->query, hovered->key, frame.ui.theme().crosshair);
  if (!hovered) {
    draw_crosshair(viewport, frame.transient.pointed_query, frame.transient.pointed_key, frame.ui.theme().crosshair);
  }
  const Marginals* marginals = bars > 0.0F ? memory.grouped.marginals(frame) : nullptr;
  if (marginals) draw_marginals(frame, viewport, *marginals);
  if (minimap.is_shown() && !frame.transient.aim.conceals) heatmap.draw_small(minimap);
  draw_axes(frame, viewport, margins, queries, keys, marked_labels(frame));
  if (heatmap.is_known() && !frame.transient.aim.conceals) {
    const float x = std::round(seen.end().x + 18.0F + bars);
    const float top = seen.origin.y + kBarDrop;
    MapLegend legend(frame, heatmap, viewport.zoom());
    // As high as the map, but the legend stays in the window.
    const float room_below = map_room.area.end().y - top - kLegendDrop - legend.height();
    const float height = std::clamp(std::min(seen.size.y - kBarDrop, room_below), 60.0F, 340.0F);
    heatmap.draw_bar({.origin = {x, top}, .size = {kBarWidth, height}});
    legend.draw({x, top + height + kLegendDrop});
  }
  if (hovered && !frame.transient.aim.conceals)
    draw_map_tooltip(frame, *hovered, viewport.rect_of({.row = hovered->query, .column = hovered->key}));
  if (hovered && is_painting(frame)) draw_brush(frame, to_glm(ImGui::GetIO().MousePos));
}

}  // namespace

void draw_head_panel(Frame& frame, HeadMemory& memory) {
  const Selection& selection = frame.state.selection;
  const auto shape = frame.result.shapes.find(selection.block);
  if (shape == frame.result.shapes.end() || !frame.result.input) return;
  const model::BlockKind kind = selection.block.kind;
  draw_head_header(frame);
  const view::Region cells = shown_cells(frame, selection.block);
  AxisTokens rows = axis_tokens(frame, frame.result.input->queries(kind), cells.row + cells.rows, query_range(frame, kind));
  rows.name = rows_write_tokens(frame, kind) ? "reads" : "query";
  if (is_grouped(frame)) return draw_grouped_map(frame, memory.grouped, rows.name);  // words are those that are read
  const std::optional<std::vector<std::string>> written = written_tokens(frame, kind);
  if (written) {
    rows.texts = &*written;
    rows.name = "writes";
  }
  AxisTokens keys = axis_tokens(frame, frame.result.input->keys(kind), cells.column + cells.columns, key_range(frame, kind));
  const std::optional<PatchImage> query_image = patch_image(frame, MapSide::Query);
  const std::optional<PatchImage> key_image = patch_image(frame, MapSide::Key);
  if (query_image) rows.patches = &*query_image;
  if (key_image) keys.patches = &*key_image;
  draw_token_search(frame, {.queries = rows.texts,
                            .keys = keys.texts,
                            .are_same = &frame.result.input->queries(kind) == &frame.result.input->keys(kind)});
  draw_map(frame, rows, keys, memory);
}

std::unique_ptr<ViewPanel> open_head_view() {
  class HeadView final : public ViewPanel {
    void draw(Frame& frame) override {
      draw_head_panel(frame, memory_);
      figure_ = {};
      const bool has_map = frame.result.shapes.contains(frame.state.selection.block) && frame.result.input;
      if (has_map) figure_.keep(frame, memory_.grouped);
    }
    std::unique_ptr<exporting::Drawing> figure() const override { return figure_.draw(); }

    HeadMemory memory_;
    HeadFigure figure_;
  };
  return std::make_unique<HeadView>();
}

}  // namespace headlight::app
