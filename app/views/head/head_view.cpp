#include "app/views/head/head_view.h"

#include "app/state/map_settings.h"
#include "app/views/head/map_parts.h"
#include "app/widgets/brush.h"
#include "app/widgets/controls.h"
#include "app/widgets/patch_picture.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/sentence.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

constexpr float kMinCell = 5.0F;  // UI units, below which a mark would hide its cell
constexpr std::size_t kMaxMarks = 4'000;

class PaintMarks {
 public:
  PaintMarks(const Frame& frame, const chart::Viewport& viewport)
      : frame_(frame), viewport_(viewport), region_(viewport.visible_region()) {}

  void draw() {
    const Selection& selection = frame_.state.selection;
    const attention::MaskSpec& mask = selected_mask(frame_.state);
    const chart::Rect cells = viewport_.visible();
    ImGui::PushClipRect(cells.origin, cells.end(), true);
    if (mask.documents) draw_documents(*mask.documents);
    const glm::vec2 cell = viewport_.cell_size();
    const bool is_one_head = selection.mean == HeadMean::None;
    if (is_one_head && std::min(cell.x, cell.y) >= kMinCell) {
      const auto pattern = fixed_pattern(frame_.state, selection.block, selection.head);
      if (pattern) {
        for_each_visible(pattern->weights, [&](attention::Cell at, float) { frame_cell(at); });
      }
      for (const auto& [scope, numbers] : mask.biases) {
        for_each_visible(numbers, [&](attention::Cell at, float) {
          const float bias = mask.bias(selection.block.layer.value, selection.batch, selection.head, at);
          const bool is_replaced = pattern && pattern->weights.has_row(at.query);
          if (bias != 0.0F && !is_replaced) sign(at, bias > 0.0F);
        });
      }
    }
    ImGui::PopClipRect();
  }

 private:
  chart::Rect rect_of(attention::Cell at) const { return viewport_.rect_of({.row = at.query, .column = at.key}); }

  void draw_documents(const attention::Documents& documents) {
    const auto found = documents.find(frame_.state.selection.batch);
    if (found == documents.end()) return;
    const chart::Rect matrix = viewport_.matrix();
    const shell::Color color = frame_.ui.theme().warning;
    for (const std::uint32_t begin : found->second) {
      if (begin >= viewport_.rows() || begin >= viewport_.columns()) break;
      const glm::vec2 at = rect_of({.query = begin, .key = begin}).origin;
      draw_line({matrix.origin.x, at.y}, {matrix.end().x, at.y}, color, 1.5F);
      draw_line({at.x, matrix.origin.y}, {at.x, matrix.end().y}, color, 1.5F);
    }
  }

  template <typename Visit>
  void for_each_visible(const attention::NumberRuns& numbers, const Visit& visit) {
    const auto runs = numbers.runs();
    const std::uint32_t end_row = region_.row + region_.rows, end_key = region_.column + region_.columns;
    auto run = std::ranges::partition_point(runs, [&](const auto& one) { return one.query < region_.row; });
    for (; run != runs.end() && run->query < end_row; ++run) {
      const std::uint32_t first = std::max(run->first_key, region_.column);
      const auto end = static_cast<std::uint32_t>(std::min<std::uint64_t>(run->end_key(), end_key));
      for (std::uint32_t key = first; key < end; ++key) {
        if (++marks_ > kMaxMarks) return;
        visit({.query = run->query, .key = key}, run->paint);
      }
    }
  }

  /// Draws the sign in the cell's upper right corner, on a ground of its own, so that it is seen on any colour.
  void sign(attention::Cell at, bool is_plus) {
    const shell::Theme& theme = frame_.ui.theme();
    const chart::Rect cell = rect_of(at);
    const float size = std::clamp(std::min(cell.size.x, cell.size.y) * 0.3F, 4.0F, 11.0F);
    const glm::vec2 center{cell.end().x - size * 0.5F - 1.0F, cell.origin.y + size * 0.5F + 1.0F};
    const float half = size * 0.5F, arm = half * 0.65F;
    fill_rect(center - half, center + half, theme.popup, 1.0F);
    const shell::Color color = is_plus ? theme.accent : theme.warning;
    draw_line({center.x - arm, center.y}, {center.x + arm, center.y}, color, 1.5F);
    if (is_plus) draw_line({center.x, center.y - arm}, {center.x, center.y + arm}, color, 1.5F);
  }

  void frame_cell(attention::Cell at) {
    const chart::Rect cell = rect_of(at);
    outline_rect(cell.origin + 1.0F, cell.end() - 1.0F, frame_.ui.theme().accent, 0.0F, 1.5F);
  }

  const Frame& frame_;
  const chart::Viewport& viewport_;
  chart::Region region_;
  std::size_t marks_ = 0;
};

/// Marks on the cells of the big heatmap that have a painted bias (+ or −) or a painted weight (a frame), and lines where
/// documents begin.
void draw_paint_marks(const Frame& frame, const chart::Viewport& viewport) { PaintMarks(frame, viewport).draw(); }

/// Returns the row or column at a point of the labels, found in the cells beside them.
std::optional<LockedToken> token_at(const chart::Viewport& viewport, MapSide side, glm::vec2 point) {
  const chart::Rect cells = viewport.visible();
  const glm::vec2 inside =
      side == MapSide::Query ? glm::vec2(cells.origin.x + 0.5F, point.y) : glm::vec2(point.x, cells.origin.y + 0.5F);
  const std::optional<chart::CellPosition> cell = viewport.cell_at(inside);
  if (!cell) return std::nullopt;
  return LockedToken{.side = side, .token = side == MapSide::Query ? cell->row : cell->column};
}

void handle_side(Frame& frame, const chart::Viewport& viewport, MapSide side, const chart::Rect& labels) {
  if (labels.is_empty()) return;
  const char* name = side == MapSide::Query ? "head.rows_of_labels" : "head.columns_of_labels";
  ImGui::SetCursorScreenPos(labels.origin);
  const bool is_clicked = click_area(name, labels.size);
  const bool is_hovered = ImGui::IsItemHovered();
  mark_pointer_item(frame, name,
                    side == MapSide::Query
                        ? "A click locks the row of a query, another one or Esc releases it; a right click masks it."
                        : "A click locks the column of a key, another one or Esc releases it; a right click masks it.");
  if (!is_hovered) return;
  const std::optional<LockedToken> token = token_at(viewport, side, pointer_position());
  if (!token) return;
  ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  std::optional<LockedToken>& locked = frame.state.view.locked;
  if (is_clicked) locked = locked == token ? std::nullopt : token;
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Right)) frame.transient.token_menu = token;
}

/// Clicks on the labels left of the map and above it: the row or the column is locked, and released by another click or Esc.
/// `margins`: width and height of the labels.
void handle_axis_clicks(Frame& frame, const chart::Viewport& viewport, glm::vec2 margins) {
  const chart::Rect cells = viewport.visible();
  handle_side(frame, viewport, MapSide::Query,
              {.origin = {cells.origin.x - margins.x, cells.origin.y}, .size = {margins.x, cells.size.y}});
  handle_side(frame, viewport, MapSide::Key,
              {.origin = {cells.origin.x, cells.origin.y - margins.y}, .size = {cells.size.x, margins.y}});
}

/// Returns the labels of what the pointer is over, on the map or on a token's chip, else of the pinned cell, else of
/// what the sentence tells.
MarkedLabels marked_labels(Frame& frame) {
  const Transient& transient = frame.transient;
  if (transient.hovered) return {.query = transient.hovered->query, .key = transient.hovered->key};
  if (transient.pointed != PointedTokens{}) return {.query = transient.pointed.query, .key = transient.pointed.key};
  const std::optional<attention::Cell>& pinned = frame.state.view.pinned;
  if (const std::optional<LockedToken>& locked = frame.state.view.locked; locked && !pinned) {
    return locked->side == MapSide::Query ? MarkedLabels{.query = locked->token, .key = {}}
                                          : MarkedLabels{.query = {}, .key = locked->token};
  }
  const bool is_told = !pinned && !frame.transient.aim.conceals && frame.state.selection.mean == HeadMean::None;
  const std::optional<attention::Cell> told = is_told ? told_cell(frame) : pinned;
  return told ? MarkedLabels{.query = told->query, .key = told->key} : MarkedLabels{};
}

/// Outlines a row and a column over the whole map, or one of them; thin ones are widened to be seen.
void draw_crosshair(const chart::Viewport& viewport, std::optional<std::uint32_t> query, std::optional<std::uint32_t> key,
                    shell::Color color) {
  const chart::Rect cells = viewport.visible();
  const chart::Rect at = viewport.rect_of({.row = query.value_or(0), .column = key.value_or(0)});
  const glm::vec2 more = glm::max(3.0F - at.size, 0.0F) * 0.5F;
  ImGui::PushClipRect(cells.origin - 1.0F, cells.end() + 1.0F, true);
  if (query && *query < viewport.rows()) {
    outline_rect({cells.origin.x - 3.0F, at.origin.y - more.y}, {cells.end().x + 3.0F, at.end().y + more.y}, color, 0.0F,
                 1.5F);
  }
  if (key && *key < viewport.columns()) {
    outline_rect({at.origin.x - more.x, cells.origin.y - 3.0F}, {at.end().x + more.x, cells.end().y + 3.0F}, color, 0.0F,
                 1.5F);
  }
  ImGui::PopClipRect();
}

/// Draws the locked row or column, and the dragged range.
void draw_choices(const Frame& frame, const chart::Viewport& viewport) {
  const shell::Color color = frame.ui.theme().accent;
  if (const std::optional<LockedToken>& locked = frame.state.view.locked) {
    const bool is_row = locked->side == MapSide::Query;
    draw_crosshair(viewport, is_row ? std::optional(locked->token) : std::nullopt,
                   is_row ? std::nullopt : std::optional(locked->token), color);
  }
  const std::optional<CellRange>& range = frame.transient.range;
  if (!range) return;
  const chart::Rect cells = viewport.visible();
  const chart::Rect first = viewport.rect_of({.row = range->first.query, .column = range->first.key});
  const chart::Rect last = viewport.rect_of({.row = range->last.query, .column = range->last.key});
  ImGui::PushClipRect(cells.origin - 2.0F, cells.end() + 2.0F, true);
  fill_rect(first.origin, last.end(), shell::with_alpha(color, 40));
  outline_rect(first.origin, last.end(), color, 0.0F, 2.0F);
  ImGui::PopClipRect();
}

/// Draws cells whose contents a lesson asks for: lines between the cells and nothing else.
void draw_blank_cells(const Frame& frame, const chart::Viewport& viewport) {
  const chart::Rect cells = viewport.visible();
  fill_rect(cells, frame.ui.theme().field);
  const chart::Region region = viewport.visible_region();
  for (std::uint32_t row = region.row; row <= region.row + region.rows; ++row) {
    const float y = viewport.rect_of({.row = row, .column = region.column}).origin.y;
    draw_line({cells.origin.x, y}, {cells.end().x, y}, frame.ui.theme().border);
  }
  for (std::uint32_t column = region.column; column <= region.column + region.columns; ++column) {
    const float x = viewport.rect_of({.row = region.row, .column = column}).origin.x;
    draw_line({x, cells.origin.y}, {x, cells.end().y}, frame.ui.theme().border);
  }
}

/// Returns the cells that are on screen, wholly or in part.
CellRange visible_cells(const chart::Viewport& viewport) {
  const chart::Region region = viewport.visible_region();
  const auto last = [](std::uint32_t first, std::uint32_t count) { return first + std::max(count, 1U) - 1; };
  return {.first = {.query = region.row, .key = region.column},
          .last = {.query = last(region.row, region.rows), .key = last(region.column, region.columns)}};
}

void draw_map(Frame& frame, const AxisTokens& queries, const AxisTokens& keys, HeadMemory& memory) {
  const float bars = frame.state[kMapView.shows_marginals] && can_group(frame) ? kMarginalRoom : 0.0F;
  const glm::vec2 room = region_left() - glm::vec2(kBarRoom, 4.0F) - bars;
  const glm::vec2 margins = measure_axes(frame, queries, keys, room);
  const chart::Region cells = shown_cells(frame, frame.state.selection.block);
  const MapRoom map_room{
      .area = {.origin = glm::round(cursor_position() + margins), .size = glm::max(room - margins, 16.0F)},
      .rows = queries.count,
      .columns = keys.count,
      .first = {.row = cells.row, .column = cells.column}};
  follow_strongest(frame, map_room.rows, map_room.columns);
  const Minimap minimap(frame, map_room);
  const chart::Viewport viewport = handle_map_input(frame, map_room, minimap.area());
  const chart::Rect seen = viewport.visible();
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
    draw_crosshair(viewport, frame.transient.pointed.query, frame.transient.pointed.key, frame.ui.theme().crosshair);
  }
  const Marginals* marginals = bars > 0.0F ? memory.grouped.marginals(frame) : nullptr;
  if (marginals) draw_marginals(frame, viewport, *marginals);
  if (minimap.is_shown() && !frame.transient.aim.conceals) heatmap.draw_small(minimap);
  draw_axes(frame, viewport, margins, queries, keys, marked_labels(frame));
  if (heatmap.is_known() && !frame.transient.aim.conceals) {
    const float x = std::round(seen.end().x + 18.0F + bars);
    const float top = seen.origin.y + kBarDrop;
    MapLegend legend(frame, heatmap, viewport.zoom());
    // The bar is as high as the map, but the legend stays in the window.
    const float room_below = map_room.area.end().y - top - kLegendDrop - legend.height();
    const float height = std::clamp(std::min(seen.size.y - kBarDrop, room_below), 60.0F, 340.0F);
    heatmap.draw_bar({.origin = {x, top}, .size = {kBarWidth, height}});
    legend.draw({x, top + height + kLegendDrop});
  }
  if (hovered && !frame.transient.aim.conceals)
    draw_map_tooltip(frame, *hovered, viewport.rect_of({.row = hovered->query, .column = hovered->key}), seen);
  if (hovered && is_painting(frame)) draw_brush(frame, pointer_position());
}

}  // namespace

void draw_head_panel(Frame& frame, HeadMemory& memory) {
  const Selection& selection = frame.state.selection;
  const inference::BlockShape* shape = selected_shape(frame);
  if (!shape || !frame.result.input) return;
  draw_head_header(frame);
  const chart::Region cells = shown_cells(frame, selection.block);
  AxisTokens rows = axis_tokens(frame, shown_queries(frame), cells.row + cells.rows, query_range(frame),
                                rows_write_tokens(frame) ? "reads" : "query");
  if (is_grouped(frame)) return draw_grouped_map(frame, memory.grouped, rows.name);  // words are those that are read
  const std::optional<std::vector<std::string>> written = written_tokens(frame);
  if (written) {
    rows.texts = &*written;
    rows.name = "writes";
  }
  AxisTokens keys = axis_tokens(frame, shown_keys(frame), cells.column + cells.columns, key_range(frame), "key");
  rows.has_indices = keys.has_indices = frame.transient.aim.shows_indices;
  const capture::PatchImages query_images = patch_images(frame, MapSide::Query);
  const capture::PatchImages key_images = patch_images(frame, MapSide::Key);
  rows.patches = &query_images;
  keys.patches = &key_images;
  draw_token_search(frame,
                    {.queries = rows.texts, .keys = keys.texts, .are_same = &shown_queries(frame) == &shown_keys(frame)});
  draw_map(frame, rows, keys, memory);
}

std::unique_ptr<ViewPanel> open_head_view() {
  class HeadView final : public ViewPanel {
    void draw(Frame& frame) override {
      draw_head_panel(frame, memory_);
      figure_ = {};
      const bool has_map = selected_shape(frame) && frame.result.input;
      if (has_map) figure_.keep(frame, memory_.grouped);
    }
    std::unique_ptr<exporting::Drawing> figure() const override { return figure_.draw(); }

    HeadMemory memory_;
    HeadFigure figure_;
  };
  return std::make_unique<HeadView>();
}

}  // namespace headlight::app
