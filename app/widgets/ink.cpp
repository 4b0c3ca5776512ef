#include "app/widgets/ink.h"

#include <algorithm>
#include <utility>

#include "app/widgets/tooltips.h"

namespace headlight::app {
namespace {

void show_tooltip(Frame& frame, std::string_view text) {
  if (text.empty() || !ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled) || !frame.ui.wants_tooltip()) return;
  begin_tooltip(frame, last_item_rect());
  {
    const Ink ink(frame.ui.fonts().small, frame.ui.theme().text);
    ImGui::PushTextWrapPos(280.0F);
    ImGui::TextUnformatted(text.data(), text.data() + text.size());
    ImGui::PopTextWrapPos();
  }
  end_tooltip(frame);
}

}  // namespace

view::Rect around_pointer() {
  constexpr float kReach = 8.0F;
  return {.origin = to_glm(ImGui::GetIO().MousePos) - kReach, .size = glm::vec2(2.0F * kReach)};
}

void begin_tooltip(Frame& frame, const view::Rect& explained) {
  constexpr float kAway = 8.0F, kWide = 0.25F, kHigh = 0.4F;  // parts of the window
  const glm::vec2 window = frame.ui.size(), middle = explained.center();
  const bool is_wide = explained.size.x > kWide * window.x || explained.size.x > 3.0F * explained.size.y;
  if (explained.size.y <= kHigh * window.y) {
    // The side on which there is more room: the pivot is the tooltip's corner or edge that comes to the place.
    const float near_pointer = std::clamp(ImGui::GetIO().MousePos.x, explained.origin.x, explained.end().x);
    const bool goes_right = (is_wide ? near_pointer : middle.x) < 0.5F * window.x, goes_down = middle.y < 0.6F * window.y;
    const float beside = goes_right ? explained.end().x + kAway : explained.origin.x - kAway;
    const float below = goes_down ? explained.end().y + kAway : explained.origin.y - kAway;
    const glm::vec2 at =
        is_wide ? glm::vec2(near_pointer, below) : glm::vec2(beside, goes_down ? explained.origin.y : explained.end().y);
    ImGui::SetNextWindowPos(to_imgui(at), ImGuiCond_Always, {goes_right ? 0.0F : 1.0F, goes_down ? 0.0F : 1.0F});
  }
  ImGui::BeginTooltip();
}

void end_tooltip(Frame& frame) {
  frame.mark("tooltip", {.origin = to_glm(ImGui::GetWindowPos()), .size = to_glm(ImGui::GetWindowSize())});
  ImGui::EndTooltip();
}

void mark_last_item(Frame& frame, std::string name, const char* explanation) {
  frame.ui.keyboard().offer_last_item();
  mark_pointer_item(frame, std::move(name), explanation);
}

void mark_pointer_item(Frame& frame, std::string name, const char* explanation) {
  const std::string_view text = explanation ? std::string_view(explanation) : tooltip_of(name);
  show_tooltip(frame, text);
  if (frame.tips) frame.tips->insert_or_assign(name, std::string(text));
  frame.last_control = {name, last_item_rect()};
  frame.mark(std::move(name), last_item_rect());
}

void open_below_last_item(const Frame& frame) {
  const view::Rect item = last_item_rect();
  if (frame.ui.keyboard().is_active()) ImGui::SetNextWindowPos({item.origin.x, item.end().y}, ImGuiCond_Appearing);
}

void explain_last_item(Frame& frame, const char* text) {
  if (!text) return;
  show_tooltip(frame, text);
  const auto& [name, rect] = frame.last_control;
  if (frame.tips && rect == last_item_rect()) frame.tips->insert_or_assign(name, text);
}

}  // namespace headlight::app
