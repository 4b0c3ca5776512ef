#include "app/shell/keyboard_focus.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/shell/imgui_vectors.h"
#include "imgui_internal.h"

namespace headlight::shell {
namespace {

/// Returns the window of the popup that a window is in; 0: none. ImGui makes a menu a child of the menu that it is beside.
ImGuiID popup_around(const ImGuiWindow* window) {
  while (window != nullptr && (window->Flags & ImGuiWindowFlags_Popup) == 0) {
    window = (window->Flags & ImGuiWindowFlags_ChildWindow) != 0 ? window->ParentWindow : nullptr;
  }
  return window != nullptr ? window->ID : 0;
}

/// Scrolls the nearest window around an item that can go further, by the item's size; false: there is none.
bool scroll_on(ImGuiWindow* window, Key arrow, glm::vec2 size) {
  const bool is_vertical = axis_of(arrow) == 1;
  for (; window != nullptr; window = (window->Flags & ImGuiWindowFlags_ChildWindow) != 0 ? window->ParentWindow : nullptr) {
    const float now = is_vertical ? window->Scroll.y : window->Scroll.x;
    const float most = is_vertical ? window->ScrollMax.y : window->ScrollMax.x;
    const float step = (is_vertical ? size.y : size.x) + 1.0F;
    const float wanted = std::clamp(now + (is_backwards(arrow) ? -step : step), 0.0F, most);
    if (wanted == now) continue;
    is_vertical ? ImGui::SetScrollY(window, wanted) : ImGui::SetScrollX(window, wanted);
    return true;
  }
  return false;
}

}  // namespace

void raise_window() {
  if (GImGui->OpenPopupStack.empty()) ImGui::BringWindowToDisplayFront(ImGui::GetCurrentWindow());
}

ControlArea::ControlArea(KeyboardFocus& focus, int order) : focus_(focus), before_(std::exchange(focus.area_, order)) {}

ControlGroup::ControlGroup(KeyboardFocus& focus, const char* name)
    : focus_(focus), before_(std::exchange(focus.group_, ImGui::GetID(name))) {}

void KeyboardFocus::add(std::uint32_t id, const chart::Rect& rect, Kind kind) {
  if (area_ == kNoArea || id == 0 || (!offered_.empty() && offered_.back().id == id)) return;
  const ImDrawList& list = *ImGui::GetWindowDrawList();
  const glm::vec2 low = to_glm(list.GetClipRectMin()), high = to_glm(list.GetClipRectMax());
  offered_.push_back({.id = id,
                      .group = group_,
                      .area = area_,
                      .kind = kind,
                      .label = {},
                      .popup = popup_around(ImGui::GetCurrentWindow()),
                      .window = ImGui::GetCurrentWindow(),
                      .rect = rect,
                      .clip = {.origin = low, .size = glm::max(high - low, 0.0F)}});
}

void KeyboardFocus::offer_last_item() {
  const ImGuiID id = ImGui::GetItemID();
  const ImGuiItemFlags flags = ImGui::GetItemFlags();
  // The last item after the button of an open list is the list's window.
  const ImGuiWindow& window = *ImGui::GetCurrentWindow();
  if ((flags & ImGuiItemFlags_Disabled) != 0 || id == window.MoveId || id == window.ID) return;
  add(id, {.origin = to_glm(ImGui::GetItemRectMin()), .size = to_glm(ImGui::GetItemRectSize())},
      (flags & ImGuiItemFlags_ButtonRepeat) != 0 ? Kind::RepeatingButton : Kind::Button);
}

bool KeyboardFocus::offer(std::uint32_t id, const chart::Rect& rect) {
  add(id, rect, Kind::Drawn);
  return id != 0 && pressed_ == id;
}

void KeyboardFocus::offer_field(std::uint32_t id, const chart::Rect& rect) {
  if ((GImGui->CurrentItemFlags & ImGuiItemFlags_Disabled) == 0) add(id, rect, Kind::Field);
}

int KeyboardFocus::steps_of_last(bool is_typed) {
  if (offered_.empty() || offered_.back().id != ImGui::GetItemID()) return 0;
  offered_.back().kind = is_typed ? Kind::TypedSlider : Kind::Slider;
  return is_active_ && offered_.back().id == scope_.focused ? steps_ : 0;
}

glm::ivec2 KeyboardFocus::moves_of_last() {
  if (offered_.empty()) return {};
  offered_.back().kind = Kind::Movable;
  return is_at_last() ? moves_ : glm::ivec2(0);
}

void KeyboardFocus::prefer_last() {
  if (!offered_.empty()) offered_.back().is_preferred = true;
}

const KeyboardFocus::Stop* KeyboardFocus::find(std::uint32_t id) const {
  const auto found = std::ranges::find_if(stops_, [&](const Stop& stop) { return stop.id == id && is_in_scope(stop); });
  return id == 0 || found == stops_.end() ? nullptr : &*found;
}

bool KeyboardFocus::is_in_scope(const Stop& stop) const { return scope_.popup == 0 || stop.popup == scope_.window; }

std::optional<chart::Rect> KeyboardFocus::rect() const {
  const Stop* stop = is_active_ ? find(scope_.focused) : nullptr;
  return stop ? std::optional(stop->rect) : std::nullopt;
}

void KeyboardFocus::end() { is_active_ = false; }

void KeyboardFocus::begin() {
  if (!std::exchange(is_active_, true)) scope_.focused = 0;
}

void KeyboardFocus::start_at(glm::vec2 point) {
  is_active_ = false;
  scope_.focused = 0;
  scope_.place.reset();
  for (const Stop& stop : stops_) {
    const bool is_hit = is_in_scope(stop) && chart::intersection(stop.rect, stop.clip).contains(point);
    if (is_hit) scope_.place = stop;
  }
}

/// Returns the stop that Tab goes on from: a field being edited, else the focused control, else the place.
const KeyboardFocus::Stop* KeyboardFocus::current() const {
  if (const Stop* edited = find(ImGui::GetActiveID()); edited && GImGui->IO.WantTextInput) return edited;
  if (const Stop* focused = find(scope_.focused)) return focused;
  return scope_.place ? find(scope_.place->id) : nullptr;
}

const KeyboardFocus::Stop* KeyboardFocus::entry_of(const Stop& stop) const {
  if (stop.group == 0) return &stop;
  const Stop* first = nullptr;
  for (const Stop& other : stops_) {
    if (other.group != stop.group || !is_in_scope(other)) continue;
    if (other.is_preferred) return &other;
    if (!first) first = &other;
  }
  return first;
}

const KeyboardFocus::Stop* KeyboardFocus::next(int direction) const {
  std::vector<const Stop*> ring;
  for (const Stop& stop : stops_) {
    if (is_in_scope(stop)) ring.push_back(&stop);
  }
  if (ring.empty()) return nullptr;
  const Stop* from = current();
  if (!from && scope_.place) {  // what was there is gone: the nearest control
    const auto distance = [&](const Stop* stop) {
      const glm::vec2 apart = stop->rect.center() - scope_.place->rect.center();
      return std::abs(apart.x) + std::abs(apart.y) + (stop->area == scope_.place->area ? 0.0F : 1e6F);
    };
    return *std::ranges::min_element(ring, {}, distance);
  }
  if (!from) return entry_of(direction > 0 ? *ring.front() : *ring.back());
  const auto count = static_cast<std::ptrdiff_t>(ring.size());
  std::ptrdiff_t at = std::ranges::find(ring, from) - ring.begin();
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    at = (at + direction + count) % count;
    const Stop& stop = *ring[static_cast<std::size_t>(at)];
    if (stop.group == 0 || stop.group != from->group) return entry_of(stop);
  }
  return from;
}

const KeyboardFocus::Stop* KeyboardFocus::beside(const Stop& from, Key arrow) const {
  constexpr float kAcross = 3.0F;   // how much worse it is not to be straight ahead
  constexpr float kOverlap = 0.5F;  // of the smaller control's size
  const glm::length_t axis = axis_of(arrow), across = 1 - axis;
  const bool is_back = is_backwards(arrow);
  const Stop* nearest = nullptr;
  float least = std::numeric_limits<float>::max();
  for (const Stop& stop : stops_) {
    const bool is_reached =
        stop.id != from.id && is_in_scope(stop) && stop.area == from.area && (from.group == 0 || stop.group == from.group);
    if (!is_reached) continue;
    const float ahead =
        is_back ? from.rect.origin[axis] - stop.rect.end()[axis] : stop.rect.origin[axis] - from.rect.end()[axis];
    if (ahead < -kOverlap * std::min(from.rect.size[axis], stop.rect.size[axis])) continue;
    const float gap =
        std::max(stop.rect.origin[across] - from.rect.end()[across], from.rect.origin[across] - stop.rect.end()[across]);
    const float off_center = std::abs(stop.rect.center()[across] - from.rect.center()[across]);
    const float distance = std::max(ahead, 0.0F) + kAcross * std::max(gap, 0.0F) + 0.01F * off_center;
    if (distance >= least) continue;
    least = distance;
    nearest = &stop;
  }
  return nearest;
}

void KeyboardFocus::focus(const Stop& stop) {
  is_active_ = true;
  scope_.focused = stop.id;
  scope_.place = stop;
  const ImVec2 low = to_imgui(stop.rect.origin), high = to_imgui(stop.rect.end());
  ImGui::ScrollToRect(stop.window, {low, high}, ImGuiScrollFlags_KeepVisibleEdgeX | ImGuiScrollFlags_KeepVisibleEdgeY);
  const bool is_edited = ImGui::GetActiveID() == stop.id;
  leaves_field_ = GImGui->IO.WantTextInput && !is_edited;
  if (stop.kind == Kind::Field && !is_edited) edit(stop);
}

void KeyboardFocus::edit(const Stop& stop) {
  if (stop.kind == Kind::Field) field_ = stop.id;
  GImGui->NavNextActivateId = stop.id;
  GImGui->NavNextActivateFlags = ImGuiActivateFlags_PreferInput;
}

void KeyboardFocus::press(const Stop& stop, Key key) {
  const bool is_repeated = std::exchange(held_, key) == key;
  if (is_repeated && stop.kind != Kind::RepeatingButton) return;
  switch (stop.kind) {
    case Kind::Field:
    case Kind::TypedSlider:
      return edit(stop);
    case Kind::Drawn:
      pressed_ = stop.id;
      return;
    case Kind::Button:
    case Kind::RepeatingButton:
      GImGui->NavNextActivateId = stop.id;
      GImGui->NavNextActivateFlags = ImGuiActivateFlags_None;
      return;
    case Kind::Slider:
    case Kind::Movable:
      break;
  }
}

void KeyboardFocus::move(Key arrow, bool may_scroll) {
  const Stop* from = find(scope_.focused);
  if (!from) return;
  if (const Stop* nearest = beside(*from, arrow)) return focus(*nearest);
  if (from->group == 0) return;
  if (may_scroll && scroll_on(from->window, arrow, from->rect.size)) {
    moves_on_ = arrow;
    return;
  }
  // The arrow at a line's end goes on to the next line.
  const Stop* before = nullptr;
  bool is_passed = false;
  for (const Stop& stop : stops_) {
    if (stop.group != from->group || !is_in_scope(stop)) continue;
    if (is_passed && !is_backwards(arrow)) return focus(stop);
    is_passed = is_passed || &stop == from;
    if (!is_passed) before = &stop;
  }
  if (before && is_backwards(arrow)) focus(*before);
}

/// Handles Esc. Only a list that is open is closed; a dialog is closed by the program.
bool KeyboardFocus::leave() {
  const bool is_list = top_list() != nullptr;
  if (!is_list && top_popup()) return false;
  is_list ? closes_popup_ = true : is_active_ = false;
  return is_list || !passes_escape_;
}

bool KeyboardFocus::take(const KeyPress& press, bool is_typing) {
  if (!press.down) {
    if (held_ == press.key) held_.reset();
    return false;
  }
  if (press.key == Key::Tab && (press.modifiers == Modifiers{} || press.modifiers == kShift)) {
    const Stop* stop = next(press.modifiers.shift ? -1 : 1);
    if (stop) focus(*stop);
    return stop != nullptr;
  }
  const bool is_plain = !is_typing && press.modifiers == Modifiers{};
  const Stop* focused = is_active_ && is_plain ? find(scope_.focused) : nullptr;
  if (is_plain && is_arrow(press.key)) {
    letters_.clear();
    if (const std::optional<bool> is_taken = take_in_menu(press.key, focused)) return *is_taken;
    if (!focused) return enter_list(press.key);
  }
  if (!focused) return false;
  if (press.key == Key::Escape) return leave();
  if (press.key == Key::Space || press.key == Key::Enter) {
    this->press(*focused, press.key);
    return true;
  }
  if (!is_arrow(press.key)) return false;
  const bool is_slider = focused->kind == Kind::Slider || focused->kind == Kind::TypedSlider;
  if (focused->kind == Kind::Movable) {
    moves_[axis_of(press.key)] = is_backwards(press.key) ? -1 : 1;
  } else if (is_slider && axis_of(press.key) == 0) {
    steps_ = is_backwards(press.key) ? -1 : 1;
  } else {
    move(press.key, true);
  }
  return true;
}

std::optional<std::uint32_t> KeyboardFocus::take_field() { return std::exchange(field_, std::nullopt); }

void KeyboardFocus::begin_frame() {
  if (std::exchange(leaves_field_, false)) ImGui::ClearActiveID();
  passes_escape_ = false;
  const int open = GImGui->OpenPopupStack.Size;
  if (std::exchange(closes_popup_, false) && open > 0) ImGui::ClosePopupToLevel(open - 1, true);
}

/// Follows popups that opened or closed. Returns whether something did.
bool KeyboardFocus::follow_scope() {
  const ImGuiPopupData* popup = top_popup();
  const ImGuiID now = popup ? popup->PopupId : 0;
  if (now == scope_.popup) return false;
  letters_.clear();
  const auto known = std::ranges::find(below_, now, &Scope::popup);
  if (known == below_.end()) {
    below_.push_back(std::exchange(scope_, Scope{.popup = now, .window = popup ? popup->Window->ID : 0}));
  } else {
    scope_ = *known;
    below_.erase(known, below_.end());
    is_active_ = is_active_ && scope_.focused != 0;
  }
  return true;
}

bool KeyboardFocus::end_frame(const Theme& theme) {
  std::ranges::stable_sort(offered_, {}, &Stop::area);
  std::swap(stops_, offered_);
  offered_.clear();
  pressed_ = 0;
  steps_ = 0;
  moves_ = {};
  bool has_moved = follow_scope();
  const std::uint32_t before = scope_.focused;
  if (const std::optional<Key> arrow = std::exchange(moves_on_, std::nullopt)) move(*arrow, false);
  if (is_active_ && scope_.focused == 0) {  // a popup was opened by a key
    const auto is_chosen = [&](const Stop& stop) { return is_in_scope(stop) && stop.is_preferred && stop.group == 0; };
    const auto chosen = std::ranges::find_if(stops_, is_chosen);
    if (const Stop* stop = chosen != stops_.end() ? &*chosen : next(1)) focus(*stop);
  }
  if (const Stop* edited = find(ImGui::GetActiveID()); is_active_ && edited && edited->kind == Kind::Field) {
    scope_.focused = edited->id;
  }
  if (const Stop* focused = find(scope_.focused)) scope_.place = *focused;
  draw_outline(theme);
  has_moved = has_moved || scope_.focused != before;
  return has_moved;
}

void KeyboardFocus::draw_outline(const Theme& theme) const {
  constexpr float kMargin = 2.0F;  // between the control and the outline's middle
  constexpr float kWidth = 2.0F;
  constexpr float kRounding = 5.0F;
  const Stop* stop = is_active_ ? find(scope_.focused) : nullptr;
  if (!stop || chart::intersection(stop->rect, stop->clip).is_empty()) return;
  // The outline is inside of the window's visible part, so that no side is cut off: rows and tabs fill theirs.
  const glm::vec2 edge(kWidth);
  const glm::vec2 low = glm::max(stop->rect.origin - kMargin, stop->clip.origin + edge);
  const glm::vec2 high = glm::max(glm::min(stop->rect.end() + kMargin, stop->clip.end() - edge), low + 1.0F);
  ImDrawList* list = ImGui::GetForegroundDrawList();
  // Lines of the ground's colour at both sides: the accent may be the control's own colour.
  list->AddRect(to_imgui(low), to_imgui(high), theme.panel, kRounding, 0, kWidth + 2.0F);
  list->AddRect(to_imgui(low), to_imgui(high), theme.accent, kRounding, 0, kWidth);
}

}  // namespace headlight::shell
