// Lists and menus that are open: arrows and letters choose their entries.
#include <algorithm>

#include "app/shell/keyboard_focus.h"
#include "imgui_internal.h"

namespace headlight::shell {
namespace {

bool begins_with(std::string_view label, std::string_view letters) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return label.size() >= letters.size() && std::ranges::equal(label.substr(0, letters.size()), letters, {}, lower, lower);
}

}  // namespace

const ImGuiPopupData* KeyboardFocus::top_popup() {
  const ImVector<ImGuiPopupData>& open = GImGui->OpenPopupStack;
  for (int i = open.Size - 1; i >= 0; --i) {
    if (open[i].Window != nullptr) return &open[i];
  }
  return nullptr;
}

const ImGuiPopupData* KeyboardFocus::top_list() {
  const ImGuiPopupData* popup = top_popup();
  return popup && (popup->Window->Flags & ImGuiWindowFlags_Modal) == 0 ? popup : nullptr;
}

void KeyboardFocus::name_last(std::string_view label) {
  if (!offered_.empty() && offered_.back().id == ImGui::GetItemID()) offered_.back().label = label;
}

void KeyboardFocus::note_submenu() {
  if (!offered_.empty() && offered_.back().id == ImGui::GetItemID()) offered_.back().opens_menu = true;
}

/// Gives the keyboard to a list that the pointer has opened: to the entry after or before the chosen one.
bool KeyboardFocus::enter_list(Key arrow) {
  if (!top_list() || axis_of(arrow) == 0) return false;
  const auto is_chosen = [&](const Stop& stop) { return is_in_scope(stop) && stop.is_preferred && stop.group == 0; };
  const auto chosen = std::ranges::find_if(stops_, is_chosen);
  if (chosen == stops_.end()) {
    const Stop* first = next(is_backwards(arrow) ? -1 : 1);
    if (first) focus(*first);
    return first != nullptr;
  }
  focus(*chosen);
  move(arrow, true);
  return true;
}

/// Uses Left and Right in a menu; nothing: it isn't in one. False leaves them to the line of menus above it.
std::optional<bool> KeyboardFocus::take_in_menu(Key arrow, const Stop* focused) {
  const ImGuiPopupData* list = top_list();
  if (!list || (list->Window->Flags & ImGuiWindowFlags_ChildMenu) == 0 || axis_of(arrow) == 1) return std::nullopt;
  if (arrow == Key::Right && focused && focused->opens_menu) {
    press(*focused, arrow);
    return true;
  }
  const bool is_beside = (list->Window->Flags & ImGuiWindowFlags_ChildWindow) != 0;
  return arrow == Key::Left && is_beside && leave();
}

bool KeyboardFocus::take_text(std::string_view utf8) {
  if (!top_list() || GImGui->IO.WantTextInput) return false;
  const auto seek = [&](const std::string& letters) -> const Stop* {
    std::vector<const Stop*> list;
    for (const Stop& stop : stops_) {
      if (is_in_scope(stop) && !stop.label.empty()) list.push_back(&stop);
    }
    // One letter goes on to the next entry, further ones look at this one as well.
    const auto at = std::ranges::find(list, scope_.focused, &Stop::id);
    if (at != list.end()) std::ranges::rotate(list, letters.size() > 1 ? at : at + 1);
    const auto found = std::ranges::find_if(list, [&](const Stop* stop) { return begins_with(stop->label, letters); });
    return found != list.end() ? *found : nullptr;
  };
  letters_ += utf8;
  const Stop* found = seek(letters_);
  if (!found) found = seek(letters_ = utf8);
  if (!found) letters_.clear();
  if (found) focus(*found);
  return found != nullptr;
}

}  // namespace headlight::shell
