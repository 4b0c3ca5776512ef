#include "app/window/view_area.h"

#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/origin_dialog.h"
#include "app/widgets/sentence.h"
#include "app/widgets/text.h"
#include "app/window/splitter.h"

namespace headlight::app {
namespace {

constexpr const char* kFirstSentence =
    "A head is one way of looking: rows are tokens that look, columns are looked at, and bright is much. Point at a cell.";

constexpr float kStripHeight = 24.0F;
constexpr float kIcon = 9.0F;  // its edge

/// While it lives, the state's view and selection are the pane's, and keys reach its view only if it has them.
class PaneScope {
 public:
  PaneScope(Frame& frame, ViewPane& pane, std::size_t number)
      : frame_(frame), pane_(pane), has_keys_(pane.view.empty()), before_(frame.pane) {
    swap();
    if (has_keys_) return;
    frame.pane = fmt::format("pane{}.", number);
    frame.ui.give_keys(false);
  }
  ~PaneScope() {
    swap();
    frame_.pane = before_;
    frame_.ui.give_keys(true);
  }
  PaneScope(const PaneScope&) = delete;
  PaneScope& operator=(const PaneScope&) = delete;

 private:
  void swap() {
    if (!has_keys_) pane_.view.swap(frame_.state.view.tab);
    if (pane_.pinned) std::swap(*pane_.pinned, frame_.state.selection);
  }

  Frame& frame_;
  ViewPane& pane_;
  bool has_keys_;
  std::string before_;
};

/// Keeps a pinned selection inside of the run on screen.
void clamp_pinned(ViewPane& pane, const EngineResult& result) {
  if (!pane.pinned || result.shapes.empty()) return;
  State clamped;
  clamped.selection = *pane.pinned;
  clamp_selection(clamped, result.shapes);
  pane.pinned = clamped.selection;
}

/// Draws a button of the strip that ends at `right`, as lines around its middle. Returns whether it was clicked.
bool strip_button(Frame& frame, const char* name, float right, const char* help, bool is_on,
                  const std::function<void(glm::vec2 middle, shell::Color color)>& draw_icon) {
  const shell::Theme& theme = frame.ui.theme();
  const glm::vec2 origin = to_glm(ImGui::GetWindowPos()) + glm::vec2(right - kStripHeight, 0.0F);
  ImGui::SetCursorScreenPos(origin);
  const bool is_clicked = click_area(name, {kStripHeight, kStripHeight});
  mark_last_item(frame, name, help);
  const bool is_hovered = ImGui::IsItemHovered();
  if (is_hovered) fill_rect(origin + 2.0F, origin + kStripHeight - 2.0F, theme.hover, 4.0F);
  draw_icon(origin + std::round(kStripHeight * 0.5F), is_on ? theme.accent : is_hovered ? theme.text : theme.text_dim);
  return is_clicked;
}

void draw_cross(glm::vec2 middle, shell::Color color) {
  const float half = kIcon * 0.5F;
  draw_line(middle - half, middle + half, color, 1.5F);
  draw_line(middle + glm::vec2(-half, half), middle + glm::vec2(half, -half), color, 1.5F);
}

void draw_frame(glm::vec2 middle, shell::Color color) {
  const float half = kIcon * 0.5F;
  outline_rect(middle - half, middle + half, color);
  draw_line(middle + glm::vec2(-half, 1.5F - half), middle + glm::vec2(half, 1.5F - half), color, 2.0F);
}

void draw_pin(glm::vec2 middle, shell::Color color) {
  ImGui::GetWindowDrawList()->AddCircleFilled(middle - glm::vec2(0.0F, 2.0F), 3.0F, color);
  draw_line(middle, middle + glm::vec2(0.0F, kIcon * 0.5F + 0.5F), color, 1.5F);
}

/// Returns the edge of the rectangle that the point is nearest to, by part of width and height.
PaneEdge nearest_edge(const chart::Rect& rect, glm::vec2 point) {
  const glm::vec2 part = (point - rect.origin) / rect.size;
  const std::array<float, 4> distances = {part.x, 1.0F - part.x, part.y, 1.0F - part.y};
  return static_cast<PaneEdge>(std::ranges::min_element(distances) - distances.begin());
}

chart::Rect half_at(chart::Rect rect, PaneEdge edge) {
  const int axis = edge == PaneEdge::Left || edge == PaneEdge::Right ? 0 : 1;
  rect.size[axis] *= 0.5F;
  if (edge == PaneEdge::Right || edge == PaneEdge::Bottom) rect.origin[axis] += rect.size[axis];
  return rect;
}

}  // namespace

void ViewArea::draw(Frame& frame, const Surroundings& around) {
  const bool shows_one = around.shows_one;
  Transient& transient = frame.transient;
  transient.in_place.clear();
  transient.shows_nothing = false;
  chosen_ = closed_ = pinned_ = std::nullopt;
  layout_ = lay_out_panes(frame.state.view.panes, around.room);
  const auto has_keys = [](const PlacedPane& placed) { return placed.pane->view.empty(); };
  has_strips_ = layout_.panes.size() > 1;
  shown_ = static_cast<std::size_t>(std::ranges::find_if(layout_.panes, has_keys) - layout_.panes.begin());
  if (shows_one) layout_ = {.panes = {{layout_.panes[shown_].pane, around.room}}, .borders = {}};
  const auto draw_one = [&](std::size_t at) {
    number_ = shows_one ? shown_ : at;
    const PlacedPane& placed = layout_.panes[at];
    around.pane(number_ == 0 ? "center" : fmt::format("center {}", number_), placed.rect,
                [&] { draw_pane(frame, placed, around); });
  };
  const std::size_t first = shows_one ? 0 : shown_;
  draw_one(first);
  says_ = transient.in_place;
  is_empty_ = transient.shows_nothing;
  for (std::size_t at = 0; at < layout_.panes.size(); ++at) {
    if (at != first) draw_one(at);
  }
  drag_borders(frame);
  take_dragged_view(frame);
  // While one pane is shown alone it is the only one that is laid out.
  const auto pane_at = [&](std::size_t number) -> ViewPane& { return *layout_.panes[shows_one ? 0 : number].pane; };
  if (pinned_) {
    std::optional<Selection>& pinned = pane_at(*pinned_).pinned;
    pinned = pinned ? std::nullopt : std::optional(frame.state.selection);
  }
  if (closed_) {
    close_pane(frame.state.view, pane_at(*closed_));
  } else if (chosen_) {
    give_keys(frame.state.view, pane_at(*chosen_));
  }
  if (closed_ || chosen_ || pinned_) frame.ui.request_redraw(2);
}

void ViewArea::draw_pane(Frame& frame, const PlacedPane& placed, const Surroundings& around) {
  ViewPane& pane = *placed.pane;
  clamp_pinned(pane, frame.result);
  // A click anywhere in a pane gives it the keyboard, whatever else it does.
  constexpr ImGuiHoveredFlags kHere = ImGuiHoveredFlags_ChildWindows | ImGuiHoveredFlags_AllowWhenBlockedByActiveItem;
  const bool is_clicked = ImGui::IsMouseClicked(ImGuiMouseButton_Left) || ImGui::IsMouseClicked(ImGuiMouseButton_Right);
  if (number_ != shown_ && is_clicked && ImGui::IsWindowHovered(kHere)) chosen_ = number_;
  const PaneScope scope(frame, pane, number_);
  if (has_strips_) draw_strip(frame, pane.pinned.has_value());
  Transient& transient = frame.transient;
  const auto [hovered, stage] = std::pair(std::exchange(transient.hovered, std::nullopt), transient.hovered_stage);
  const std::optional<NumberRef> number = std::exchange(transient.pointed_number, std::nullopt);
  draw_view(frame, around);
  if (!transient.pointed_number && transient.hovered) transient.pointed_number = number_at_cell(frame);
  ask_about_number(frame);
  const bool is_pointed_at = transient.pointed_number.has_value();
  // A key asks about the pinned one too, and the sentence is about it.
  if (!is_pointed_at) transient.pointed_number = number_at_cell(frame);
  say(frame, around.is_first_time);
  // What is under the pointer in a pane that was drawn before stays.
  if (!transient.hovered) std::tie(transient.hovered, transient.hovered_stage) = std::tie(hovered, stage);
  if (number && !is_pointed_at) transient.pointed_number = number;
}

/// Draws the sentence below the view's title.
void ViewArea::say(Frame& frame, bool is_first_time) {
  const View& view = find_view(frame.state.view.tab);
  if (frame.says.empty() && (view.group == "Look" || view.group == "Compute")) frame.says = map_sentence(frame);
  if (is_first_time && view.id == kHeadView && !frame.transient.pointed_number) frame.says = kFirstSentence;
  if (frame.transient.aim.conceals || frame.transient.aim.is_nameless)
    frame.says.clear();  // it would answer what the lesson asks
  draw_sentence(frame, frame.says);
  if (number_ == shown_) sentence_ = frame.says;
}

void ViewArea::draw_view(Frame& frame, const Surroundings& around) {
  frame.says = {};
  frame.sentence_place = {};
  const View& view = find_view(frame.state.view.tab);
  if (const std::string why = why_empty(view, frame); !why.empty()) {
    const std::size_t end = why.find(". ");
    draw_empty_note(frame, "view.unavailable", why.substr(0, end), why.substr(end + 2));
    constexpr const char* kLabel = "Open captions-gpt2";
    if (around.begin &&
        draw_first_button(frame, "view.begin", kLabel, "A small decoder that comes along; this view has all of it."))
      around.begin();
  } else if (frame.result.run != 0) {
    std::unique_ptr<ViewPanel>& panel = open_[{number_, view.id}];
    if (!panel) panel = view.open();
    panel->draw(frame);
  } else {
    around.draw_waiting();
  }
}

void ViewArea::draw_strip(Frame& frame, bool is_pinned) {
  const shell::Theme& theme = frame.ui.theme();
  const bool has_keys = number_ == shown_;
  const glm::vec2 origin = to_glm(ImGui::GetWindowPos());
  const float width = ImGui::GetWindowWidth();
  ImGui::PushClipRect(origin, origin + glm::vec2(width, kStripHeight), false);  // over the window's padding too
  fill_rect(origin, origin + glm::vec2(width, kStripHeight), theme.panel);
  if (has_keys) fill_rect(origin, origin + glm::vec2(width, 2.0F), theme.accent);
  const float buttons = 3.0F * kStripHeight;
  ImGui::SetCursorScreenPos(origin);
  click_area("pane.title", {std::max(width - buttons, 1.0F), kStripHeight});
  mark_pointer_item(frame, "pane.title", "A double click gives the pane the whole room, and takes it back.");
  bool& shows_one = frame.transient.shows_one_pane;
  if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) shows_one = !shows_one;
  ImFont* font = frame.ui.fonts().small;
  put_text(font, origin + glm::vec2(12.0F, text_drop(font, kStripHeight)), has_keys ? theme.text : theme.text_dim,
           find_view(frame.state.view.tab).title);
  if (strip_button(frame, "pane.close", width, "Closes this pane; its neighbour takes the room.", false, draw_cross)) {
    closed_ = number_;
    shows_one = false;
  }
  if (strip_button(frame, "pane.maximise", width - kStripHeight,
                   shows_one ? "Shows the other panes again." : "Gives this pane the others' room.", shows_one,
                   draw_frame)) {
    if (!has_keys) chosen_ = number_;
    shows_one = !shows_one;
  }
  const char* help = is_pinned ? "Lets the pane follow the selected head again."
                               : "Keeps this layer and head in the pane, whatever is selected.";
  if (strip_button(frame, "pane.pin", width - 2.0F * kStripHeight, help, is_pinned, draw_pin)) {
    pinned_ = number_;
  }
  ImGui::PopClipRect();
  ImGui::SetCursorPos({ImGui::GetStyle().WindowPadding.x, kStripHeight + 8.0F});
}

void ViewArea::drag_borders(Frame& frame) {
  const shell::Theme& theme = frame.ui.theme();
  for (std::size_t i = 0; i < layout_.borders.size(); ++i) {
    const auto& [pane, whole, strip] = layout_.borders[i];
    frame.mark(fmt::format("splitter.pane.{}", i), strip);
    const SplitterUse use = use_splitter(fmt::format("pane splitter {}", i).c_str(), strip, theme.border, theme.accent);
    const int axis = pane->is_column ? 1 : 0;
    if (use.dragged_to)
      pane->share =
          std::clamp(((*use.dragged_to)[axis] - whole.origin[axis]) / whole.size[axis], kLeastShare, 1.0F - kLeastShare);
    if (use.is_double_clicked) pane->share = 0.5F;
  }
}

/// Opens a view where its tab is dropped: at the nearest edge of the pane under the pointer, whose half is lit meanwhile.
void ViewArea::take_dragged_view(Frame& frame) {
  const ImGuiPayload* payload = ImGui::GetDragDropPayload();
  if (payload == nullptr || !payload->IsDataType(kDraggedView)) return;
  const glm::vec2 pointer = to_glm(ImGui::GetIO().MousePos);
  for (const PlacedPane& placed : layout_.panes) {
    if (!placed.rect.contains(pointer)) continue;
    const PaneEdge edge = nearest_edge(placed.rect, pointer);
    const chart::Rect half = half_at(placed.rect, edge);
    ImGui::GetForegroundDrawList()->AddRectFilled(half.origin, half.end(), shell::with_alpha(frame.ui.theme().accent, 0x50));
    if (!ImGui::IsMouseReleased(ImGuiMouseButton_Left)) return;
    const std::string id(static_cast<const char*>(payload->Data), static_cast<std::size_t>(payload->DataSize));
    chosen_ = std::nullopt;
    open_beside(frame.state.view, *placed.pane, edge, id);
    frame.ui.request_redraw(2);
    return;
  }
}

std::unique_ptr<exporting::Drawing> ViewArea::figure(const State& state) const {
  const auto panel = open_.find({shown_, find_view(state.view.tab).id});
  return panel == open_.end() || is_empty_ ? nullptr : panel->second->figure();
}

void ask_about_number(Frame& frame) {
  Transient& transient = frame.transient;
  const bool asks = ImGui::GetIO().KeyCtrl && ImGui::IsMouseClicked(ImGuiMouseButton_Left);
  // The item under the pointer may be a button, which is active by now.
  constexpr ImGuiHoveredFlags kHere = ImGuiHoveredFlags_ChildWindows | ImGuiHoveredFlags_AllowWhenBlockedByActiveItem;
  if (asks && transient.pointed_number && ImGui::IsWindowHovered(kHere)) transient.asked_number = transient.pointed_number;
}

}  // namespace headlight::app
