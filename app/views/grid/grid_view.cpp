#include "app/views/grid/grid_view.h"

#include "app/engine/analyses/head_metric_text.h"
#include "app/state/comparison.h"
#include "app/state/map_settings.h"
#include "app/widgets/cell_grid.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/thumbnail.h"
#include "app/widgets/thumbnail_layout.h"

namespace headlight::app {
namespace {

constexpr std::uint32_t kMaxLines = 64;  // of a batch as one button each

/// Draws "All heads 4 × 8, rows: queries, columns: keys".
void draw_title(const Frame& frame, std::uint32_t layers, std::uint32_t heads) {
  const shell::Theme& theme = frame.ui.theme();
  write_strong(frame, "All heads");
  ImGui::SameLine(0.0F, 6.0F);
  const std::string about = fmt::format("{} \u00D7 {}, {}", layers, heads,
                                        frame.shows_difference() ? difference_caption(frame.state) : "queries \u00D7 keys");
  ImFont* font = frame.ui.fonts().small;
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + 2.0F);
  write_text(font, theme.text_dim, fit_text(font, about, width_left()));
}

/// Draws the choice Line 1 | 2 | 3 of the batch; arrows where the lines don't fit.
void draw_lines(Frame& frame, std::uint32_t batch) {
  if (batch < 2) return;
  std::uint32_t& line = frame.state.selection.batch;
  line = std::min(line, batch - 1U);
  std::vector<std::string> labels;
  for (std::uint32_t i = 0; i < std::min(batch, kMaxLines); ++i) labels.push_back(fmt::format("{}", i + 1));
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted("Line");
  ImGui::SameLine();
  if (batch <= kMaxLines && segmented_width(frame, labels) <= width_left()) {
    std::size_t chosen = line;
    if (draw_segmented(frame, "grid.line", labels, chosen)) line = static_cast<std::uint32_t>(chosen);
    return;
  }
  if (draw_arrow_button(frame, "grid.previous_line", ImGuiDir_Left) && line > 0) --line;
  ImGui::SameLine();
  ImGui::Text("%u of %u", line + 1, batch);
  ImGui::SameLine();
  if (draw_arrow_button(frame, "grid.next_line", ImGuiDir_Right)) line = std::min(line + 1U, batch - 1U);
}

void draw_order(Frame& frame) {
  std::vector<std::string> labels = option_labels(kMapView.grid_order);
  if (segmented_width(frame, labels) > width_left()) labels = {"Layer", "Concentration"};
  choose(frame, kMapView.grid_order, labels);
}

/// Draws, above the thumbnails, how many heads there are, which kind of attention (networks with several), which line of the
/// batch, and the order.
void draw_grid_header(Frame& frame) {
  const inference::BlockShape* shape = selected_shape(frame);
  if (!shape) return;
  const auto layers =
      static_cast<std::uint32_t>(blocks_of_kind(frame.result.shapes, frame.state.selection.block.kind).size());
  draw_title(frame, layers, shape->heads);
  choose_kind(frame, "grid.kind");
  draw_lines(frame, shape->batch);
  if (layers * shape->heads > 2) draw_order(frame);
  if (frame.shows_difference()) draw_scale(frame, scale_of_signs(frame));
}

// Of the panel's height: what the heads get at least, and what stays for what is selected.
constexpr float kHeadsShare = 0.4F, kLeastProperties = 250.0F, kMaxProperties = 490.0F, kAroundProperties = 24.0F;
constexpr float kGutter = 26.0F;
constexpr float kCaption = 17.0F;
constexpr float kShortCaption = 26.0F;       // "H15"
constexpr float kLongCaption = 52.0F;        // "L11 H15"
constexpr float kMargins = 30.0F;            // above and below: the selected map's frame, the heads' numbers
constexpr std::uint32_t kSampledRows = 512;  // enough to sort by; the tooltip's number is exact
constexpr float kTopMargin = 4.0F;           // room for the selected one's frame
constexpr std::uint32_t kThumbnailPlace = 0x71;

/// Heads of the kind in the order chosen, and how they are grouped.
struct Arrangement {
  std::vector<HeadRef> heads;
  std::uint32_t groups = 1, per_group = 1;
};

/// Sorts heads, the most concentrated first. That needs every head's tile, also those not visible.
void sort_by_concentration(Frame& frame, std::vector<HeadRef>& heads, float edge) {
  std::vector<std::pair<float, std::size_t>> keys;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const ShownTile shown = find_tile(frame, thumbnail_request(frame, heads[i].block, heads[i].head, edge));
    const attention::KeyRange queries = query_range(frame, heads[i].block.kind);
    const float known = shown.tile ? shown_concentration(shown, queries, kSampledRows) : 0.0F;
    keys.emplace_back(std::isnan(known) ? 1.0F : -known, i);  // what isn't a number comes last
  }
  std::ranges::sort(keys);
  std::vector<HeadRef> sorted;
  for (const auto& [key, index] : keys) sorted.push_back(heads[index]);
  heads = std::move(sorted);
}

Arrangement arrange(const Frame& frame) {
  Arrangement arrangement{.heads = heads_of_kind(frame.result.shapes, frame.state.selection.block.kind)};
  const auto heads = static_cast<std::uint32_t>(arrangement.heads.size());
  const inference::BlockShape* shape = selected_shape(frame);
  if (shape) arrangement.per_group = std::max(shape->heads, 1U);
  arrangement.groups = std::max(heads / arrangement.per_group, 1U);
  return arrangement;
}

/// Keeps the selected thumbnail visible when the keyboard moves through the heads.
void follow_selection(const Frame& frame, float top, float bottom) {
  const Selection& selection = frame.state.selection;
  const int now = static_cast<int>((static_cast<std::uint32_t>(selection.block.kind) << 24) ^
                                   (selection.block.layer.value << 12) ^ selection.head);
  int* last = ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("selected"), now);
  if (*last == now) return;
  *last = now;
  scroll_into_view(top, bottom, 8.0F);
}

void draw_caption(Frame& frame, const HeadRef& head, const chart::Rect& box, bool is_selected, bool names_layer) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  const std::string text =
      names_layer ? fmt::format("L{} H{}", head.block.layer.value, head.head) : fmt::format("H{}", head.head);
  const float width = text_width(font, text);
  put_text(font, {std::round(box.origin.x + (box.size.x - width) * 0.5F), box.end().y + 3.0F},
           is_selected ? theme.accent : theme.text_dim, text);
}

/// A head's appearance besides its heatmap.
struct HeadStyle {
  float caption = 0.0F;  ///< height below the map; 0: none
  bool names_layer = false;
  const evaluation::HeadMetrics* metrics = nullptr;  ///< for badge and tooltip; null: not measured
};

/// Draws one head: heatmap, frame, caption, click and tooltip.
void draw_head(Frame& frame, const HeadRef& head, const chart::Rect& box, const HeadStyle& style) {
  Selection& selection = frame.state.selection;
  const std::string name =
      fmt::format("grid.{}.{}.{}", model::to_string(head.block.kind), head.block.layer.value, head.head);
  const HeadThumbnailEvents events = draw_head_thumbnail(
      frame, {.head = head, .name = name, .box = box, .caption = style.caption, .place = kThumbnailPlace});
  if (events.is_clicked) select_head(selection, head);
  const std::string badge = style.metrics ? badge_text(*style.metrics) : std::string();
  const bool is_on_badge = !badge.empty() && draw_badge(frame, name, box, badge);
  if (style.caption > 0.0F) draw_caption(frame, head, box, events.is_selected, style.names_layer);
  if (!events.is_hovered) return;
  frame.transient.pointed_number =
      is_on_badge ? number_of(head, selection.batch, *strongest_metric(*style.metrics), *style.metrics, {})
                  : number_under_pointer(frame.compared(events.shown), box);
  draw_thumbnail_tooltip(
      frame, head.block, head.head,
      style.metrics ? plain_text(head_sentence(head, *style.metrics, are_trained(frame.state))) : std::string());
}

/// Draws the label beside a line of maps: the layer's name, or "+6" beside its second line of six heads.
void draw_line_label(const Frame& frame, const std::string& label, ImVec2 at, float map_height, bool is_selected) {
  ImFont* font = frame.ui.fonts().small;
  const float drop = std::max((std::min(map_height, 26.0F) - font_size(font)) * 0.5F, 0.0F);
  put_text(font, {at.x, std::round(at.y + drop)}, is_selected ? frame.ui.theme().accent : frame.ui.theme().text_dim, label);
}

/// Draws the heads' numbers above a grid without captions, which stay while it scrolls; as many as have room. Where a layer
/// has several lines, the numbers are the first line's, and the labels of the others name what is added.
void draw_head_numbers(Frame& frame, const ThumbnailLayout& layout, std::uint32_t heads) {
  ImFont* font = frame.ui.fonts().small;
  const glm::vec2 origin = cursor_position();
  const float widest = text_width(font, std::to_string(heads - 1)) + 4.0F;
  const float pitch = std::max(layout.box(0, 1).x - layout.box(0, 0).x, 1.0F);
  std::uint32_t step = 1;
  while (static_cast<float>(step) * pitch < widest) step *= 2;
  for (std::uint32_t head = 0; head < heads; head += step) {
    const std::string number = std::to_string(head);
    const float x = layout.box(0, head).x + (layout.map_size().x - text_width(font, number)) * 0.5F;
    const bool is_selected = head == frame.state.selection.head % layout.per_line();
    put_text(font, {origin.x + std::round(x), origin.y}, is_selected ? frame.ui.theme().accent : frame.ui.theme().text_dim,
             number);
  }
  frame.mark("grid.numbers", {.origin = origin, .size = {width_left(), font_size(font)}});
  ImGui::Dummy({1.0F, font_size(font)});
}

/// Returns the arrangement that fills `room`, with space for a scroll bar only where it needs one.
ThumbnailLayout lay_out(const Arrangement& arrangement, const inference::BlockShape& shape, bool is_sorted, ImVec2 room) {
  ThumbnailLayout::Request request{
      .groups = is_sorted ? 1U : arrangement.groups,
      .per_group = is_sorted ? static_cast<std::uint32_t>(arrangement.heads.size()) : arrangement.per_group,
      .width = room.x - 4.0F,
      .height = room.y - kMargins,
      .gutter = is_sorted ? 4.0F : kGutter,
      .aspect = static_cast<float>(shape.queries) / static_cast<float>(std::max(shape.keys, 1U)),
      .caption = kCaption,
      .caption_width = is_sorted ? kLongCaption : kShortCaption,
      .needs_captions = is_sorted};
  ThumbnailLayout layout(request);
  if (layout.height() <= request.height) return layout;
  request.width -= ImGui::GetStyle().ScrollbarSize;
  return ThumbnailLayout(request);
}

/// Asks for the visible heads of the selected layer before all others.
void ask_for_selected_layer(Frame& frame, const Arrangement& arrangement, const ThumbnailLayout& layout,
                            const ThumbnailLayout::Lines& visible, float edge) {
  for (std::size_t i = 0; i < arrangement.heads.size(); ++i) {
    const HeadRef& head = arrangement.heads[i];
    const std::size_t group = i / arrangement.per_group, in_group = i % arrangement.per_group;
    const std::size_t line = group * layout.lines_per_group() + in_group / layout.per_line();
    const bool is_visible = line >= visible.first && line < visible.end;
    if (head.block != frame.state.selection.block || !is_visible) continue;
    frame.ask(frame.compared(thumbnail_request(frame, head.block, head.head, edge)));
  }
}

/// Draws the heads in at most `height`, and as much of it as they need.
void draw_thumbnails(Frame& frame, float height) {
  const bool is_sorted = frame.state[kMapView.grid_order] == GridOrder::ByConcentration;
  Arrangement arrangement = arrange(frame);
  if (arrangement.heads.empty()) return;
  const inference::BlockShape& shape = frame.result.shapes.at(arrangement.heads.front().block);
  const bool is_sampled = std::size_t{shape.queries} * shape.keys > kMaxThumbnailCells;
  ImVec2 room(width_left(), height);
  if (is_sampled) room.y -= ImGui::GetTextLineHeightWithSpacing();
  const ThumbnailLayout layout = lay_out(arrangement, shape, is_sorted, room);
  const float edge = glm::max(layout.map_size().x, layout.map_size().y);
  if (is_sampled)
    draw_sample_note(frame, "grid.sample",
                     sample_in_words(thumbnail_request(frame, arrangement.heads.front().block, 0, edge)));
  if (!layout.has_captions() && !is_sorted) {
    draw_head_numbers(frame, layout, std::min(layout.per_line(), arrangement.per_group));
  }
  ImGui::BeginChild("thumbnails", {0.0F, std::min(layout.height() + 2.0F * kTopMargin + 2.0F, room.y)});
  if (is_sorted) sort_by_concentration(frame, arrangement.heads, edge);
  const ShownMetrics metrics = frame.state.heads.shows_badges ? role_metrics(frame) : ShownMetrics();

  const shell::ControlGroup stop(frame.ui.keyboard(), "heads");
  const glm::vec2 origin = cursor_position();
  const auto box_of = [&](std::uint32_t group, std::uint32_t index) {
    return chart::Rect{.origin = glm::round(origin + layout.box(group, index) + glm::vec2(0.0F, kTopMargin)),
                       .size = layout.map_size()};
  };
  const std::uint32_t per_group = is_sorted ? static_cast<std::uint32_t>(arrangement.heads.size()) : arrangement.per_group;
  const float scroll = ImGui::GetScrollY();
  const ThumbnailLayout::Lines lines = layout.visible_lines(scroll, scroll + ImGui::GetWindowHeight());
  if (!is_sorted) ask_for_selected_layer(frame, arrangement, layout, lines, edge);
  for (std::uint32_t line = lines.first; line < lines.end; ++line) {
    const std::uint32_t group = line / layout.lines_per_group();
    const std::uint32_t first = line % layout.lines_per_group() * layout.per_line();
    const std::uint32_t end = std::min(first + layout.per_line(), per_group);
    for (std::uint32_t index = first; index < end; ++index) {
      const HeadRef& head = arrangement.heads[std::size_t{group} * per_group + index];
      draw_head(frame, head, box_of(group, index),
                {.caption = layout.caption(), .names_layer = is_sorted, .metrics = metrics.of(head)});
    }
    const bool is_first_seen = line == lines.first || first == 0;
    if (is_sorted || !is_first_seen) continue;
    // A layer's name stays visible while any of its lines does.
    const float lowest = box_of(group, per_group - 1).origin.y;
    const float y = std::min(std::max(box_of(group, 0).origin.y, ImGui::GetWindowPos().y + kTopMargin), lowest);
    const HeadRef& first_of_group = arrangement.heads[std::size_t{group} * per_group];
    draw_line_label(frame, fmt::format("L{}", first_of_group.block.layer.value), {origin.x, y}, layout.map_size().y,
                    first_of_group.block == frame.state.selection.block);
    for (std::uint32_t next = layout.per_line(); !layout.has_captions() && next < per_group; next += layout.per_line()) {
      const float line_y = box_of(group, next).origin.y;
      if (line_y <= y + ImGui::GetTextLineHeight()) continue;
      draw_line_label(frame, fmt::format("+{}", next), {origin.x, line_y}, layout.map_size().y, false);
    }
  }
  const HeadRef selected = frame.state.selection.head_ref();
  const auto at = static_cast<std::uint32_t>(std::ranges::find(arrangement.heads, selected) - arrangement.heads.begin());
  if (at < arrangement.heads.size()) {
    const float top = layout.box(at / per_group, at % per_group).y;
    follow_selection(frame, top, top + layout.map_size().y + layout.caption() + kTopMargin);
  }
  ImGui::SetCursorScreenPos(origin);
  ImGui::Dummy(ImVec2(1.0F, layout.height() + 2.0F * kTopMargin));
  ImGui::EndChild();
}

}  // namespace

void draw_grid_panel(Frame& frame, float properties) {
  const float whole = height_left();
  draw_grid_header(frame);
  const float left = height_left(), reserved = std::clamp(properties + kAroundProperties, kLeastProperties, kMaxProperties);
  draw_thumbnails(frame, std::min(std::max(whole * kHeadsShare, left - reserved), left));
}

}  // namespace headlight::app
