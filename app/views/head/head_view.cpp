#include "app/views/head/head_view.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "app/quantities/shown_map.h"
#include "app/views/head/axis_locks.h"
#include "app/views/head/head_header.h"
#include "app/views/head/map_heatmap.h"
#include "app/views/head/map_input.h"
#include "app/views/head/map_navigation.h"
#include "app/views/head/map_tooltip.h"
#include "app/views/head/minimap.h"
#include "app/widgets/brush.h"
#include "app/widgets/ink.h"
#include "app/widgets/label_text.h"
#include "app/widgets/map_axes.h"
#include "app/widgets/marginal_bars.h"
#include "app/widgets/row_names.h"
#include "app/widgets/segmented.h"
#include "app/widgets/thumbnail.h"
#include "view/not_finite.h"

namespace headlight::app {
namespace {

constexpr float kBarRoom = 104.0F;  // right of the map: colour bar, and the last slanted labels
constexpr float kBarWidth = 14.0F;
constexpr float kBarDrop = 24.0F;  // the bar's caption is beside the map, below the slanted labels

AxisTokens axis_tokens(const Frame& frame, const model::TokenBatch& tokens, std::uint32_t count, attention::KeyRange real) {
  const std::uint32_t batch = frame.state.selection.batch;
  return {
      .texts = batch < tokens.texts.size() ? &tokens.texts[batch] : nullptr, .count = count, .real = real, .name = "key"};
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

constexpr float kScalePadding = 6.0F;   // of the scale's buttons
constexpr float kSwitchHeight = 26.0F;  // of the scale's switch, and of the line that explains stripes
constexpr float kOddHeight = 40.0F;     // of the two lines that explain the colour of what isn't a number
constexpr float kZoomHeight = 40.0F;
constexpr float kHintLine = 16.0F;

/// Below the colour bar: its scale, what to do when it shows next to nothing, what the stripes and the colour of what isn't
/// a number mean, and the zoom while there is one.
class Legend {
 public:
  Legend(Frame& frame, const MapHeatmap& heatmap, const view::Viewport& viewport, HighWeight& high_weight)
      : frame_(frame),
        hint_(heatmap.hint(high_weight)),
        has_scale_(shown_stage(frame.state) == attention::Stage::Weights && !frame.shows_difference()),
        has_masked_cells_(heatmap.has_masked_cells()),
        has_odd_cells_(heatmap.has_odd_cells()),
        zoom_(viewport.zoom()) {
    if (!hint_) return;
    hint_lines_ = break_lines(frame.ui.fonts().small, hint_->text, kBarRoom - 22.0F);
    hint_lines_.emplace_back("click to fit");
  }

  float height() const {
    return (has_scale_ ? kSwitchHeight : 0.0F) +
           (hint_ ? kHintLine * static_cast<float>(hint_lines_.size()) + 10.0F : 0.0F) +
           (has_masked_cells_ ? kSwitchHeight : 0.0F) + (has_odd_cells_ ? kOddHeight : 0.0F) +
           (is_zoomed() ? kZoomHeight : 0.0F);
  }

  void draw(glm::vec2 at) {
    const shell::Theme& theme = frame_.ui.theme();
    ImFont* font = frame_.ui.fonts().small;
    ImDrawList* list = ImGui::GetWindowDrawList();
    if (has_scale_) {
      draw_scale(to_imgui(at));
      at.y += kSwitchHeight;
    }
    if (hint_) at.y = draw_hint(to_imgui(at));
    if (has_masked_cells_) {
      draw_hatched_sample(theme, to_imgui(at));
      list->AddText(font, font_size(font), {at.x + 20.0F, at.y}, theme.text_dim, "masked");
      at.y += kSwitchHeight;
    }
    if (has_odd_cells_) {
      list->AddRectFilled(to_imgui(at), to_imgui(at + 14.0F), view::kNotFinitePacked);
      list->AddText(font, font_size(font), {at.x + 20.0F, at.y}, theme.text_dim, "not a");
      list->AddText(font, font_size(font), {at.x + 20.0F, at.y + 14.0F}, theme.text_dim, "number");
      at.y += kOddHeight;
    }
    if (!is_zoomed()) return;
    const std::string text = fmt::format("zoom {:.1f}×", zoom_);
    list->AddText(font, font_size(font), to_imgui(at), theme.text, text.c_str());
    list->AddText(font, font_size(font), {at.x, at.y + 17.0F}, theme.text_dim, "0 fits");
  }

 private:
  bool is_zoomed() const { return zoom_ > 1.001F; }

  /// How colours follow the weights.
  void draw_scale(ImVec2 at) {
    const std::array<std::string, 3> labels = {"lin", "√", "log"};
    auto chosen = static_cast<std::size_t>(frame_.state.view.color_spread);
    ImGui::SetCursorScreenPos(at);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(1.0F, 1.0F));
    if (draw_segmented(frame_, "head.spread", labels, chosen, kScalePadding)) {
      frame_.state.view.color_spread = static_cast<view::ScaleSpread>(chosen);
    }
    ImGui::PopStyleVar();
  }

  float draw_hint(ImVec2 at) {
    ImFont* font = frame_.ui.fonts().small;
    ImDrawList* list = ImGui::GetWindowDrawList();
    const shell::Theme& theme = frame_.ui.theme();
    ImGui::SetCursorScreenPos(at);
    const float height = kHintLine * static_cast<float>(hint_lines_.size());
    if (ImGui::InvisibleButton("fit range", {kBarRoom - 20.0F, height})) {
      auto& limits = frame_.state.view.color_limits;
      limits.erase(attention::Stage::Weights);
      if (hint_->fit) limits[attention::Stage::Weights] = *hint_->fit;
    }
    mark_last_item(frame_, "head.fit_range");
    const bool is_hovered = ImGui::IsItemHovered();
    if (is_hovered) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    for (std::size_t line = 0; line < hint_lines_.size(); ++line) {
      const bool is_link = line + 1 == hint_lines_.size();
      list->AddText(font, font_size(font), {at.x, at.y + kHintLine * static_cast<float>(line)},
                    is_link ? (is_hovered ? theme.accent_hover : theme.accent) : theme.text, hint_lines_[line].c_str());
    }
    return at.y + height + 10.0F;
  }

  Frame& frame_;
  std::optional<RangeHint> hint_;
  std::vector<std::string> hint_lines_;
  bool has_scale_, has_masked_cells_, has_odd_cells_;
  float zoom_;
};

void draw_map(Frame& frame, const AxisTokens& queries, const AxisTokens& keys, HeadMemory& memory) {
  const float bars = frame.state.view.shows_marginals && can_group(frame) ? kMarginalRoom : 0.0F;
  const glm::vec2 room = to_glm(ImGui::GetContentRegionAvail()) - glm::vec2(kBarRoom, 4.0F) - bars;
  const glm::vec2 margins = measure_axes(frame, queries, keys, room);
  const MapRoom map_room{
      .area = {.origin = glm::round(to_glm(ImGui::GetCursorScreenPos()) + margins), .size = glm::max(room - margins, 16.0F)},
      .rows = queries.count,
      .columns = keys.count};
  follow_strongest(frame, map_room.rows, map_room.columns);
  const Minimap minimap(frame, map_room);
  const view::Viewport viewport = handle_map_input(frame, map_room, minimap.area());
  const view::Rect cells = viewport.visible();
  frame.mark("head.map", cells);
  handle_axis_clicks(frame, viewport, margins);

  MapHeatmap heatmap(frame, viewport);
  heatmap.draw();
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
  if (minimap.is_shown()) heatmap.draw_small(minimap);
  draw_axes(frame, viewport, margins, queries, keys, marked_labels(frame));
  if (heatmap.is_known()) {
    const float x = std::round(cells.end().x + 18.0F + bars);
    const float top = cells.origin.y + kBarDrop;
    constexpr float kLegendDrop = 14.0F;
    Legend legend(frame, heatmap, viewport, memory.high_weight);
    // As high as the map, but the legend stays in the window.
    const float room_below = map_room.area.end().y - top - kLegendDrop - legend.height();
    const float height = std::clamp(std::min(cells.size.y - kBarDrop, room_below), 60.0F, 340.0F);
    heatmap.draw_bar({.origin = {x, top}, .size = {kBarWidth, height}});
    legend.draw({x, top + height + kLegendDrop});
  }
  if (hovered) draw_map_tooltip(frame, *hovered);
  if (hovered && is_painting(frame)) draw_brush(frame, to_glm(ImGui::GetIO().MousePos));
}

}  // namespace

void draw_head_panel(Frame& frame, HeadMemory& memory) {
  const Selection& selection = frame.state.selection;
  const auto shape = frame.result.shapes.find(selection.block);
  if (shape == frame.result.shapes.end() || !frame.result.input) return;
  const model::BlockKind kind = selection.block.kind;
  draw_head_header(frame);
  AxisTokens rows = axis_tokens(frame, frame.result.input->queries(kind), shape->second.queries, query_range(frame, kind));
  rows.name = rows_write_tokens(frame, kind) ? "reads" : "query";
  if (is_grouped(frame)) return draw_grouped_map(frame, memory.grouped, rows.name);  // words are those that are read
  const std::optional<std::vector<std::string>> written = written_tokens(frame, kind);
  if (written) {
    rows.texts = &*written;
    rows.name = "writes";
  }
  const AxisTokens keys = axis_tokens(frame, frame.result.input->keys(kind), shape->second.keys, key_range(frame, kind));
  draw_token_search(frame, {.queries = rows.texts,
                            .keys = keys.texts,
                            .are_same = &frame.result.input->queries(kind) == &frame.result.input->keys(kind)});
  draw_map(frame, rows, keys, memory);
}

std::unique_ptr<ViewPanel> open_head_view() {
  class HeadView final : public ViewPanel {
    void draw(Frame& frame) override { draw_head_panel(frame, memory_); }
    HeadMemory memory_;
  };
  return std::make_unique<HeadView>();
}

}  // namespace headlight::app
