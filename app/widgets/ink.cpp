#include "app/widgets/ink.h"

#include <algorithm>
#include <utility>

#include "app/widgets/tooltips.h"

namespace headlight::app {
namespace {

void show_tooltip(Frame& frame, std::string_view text) {
  if (text.empty() || !ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled) || !frame.ui.wants_tooltip()) return;
  explain_rect(frame, last_item_rect(), text);
}

}  // namespace

void write(ImFont* font, shell::Color color, std::string_view text) {
  const Ink ink(font, color);
  const char* begin = text.empty() ? "" : text.data();
  ImGui::TextUnformatted(begin, begin + text.size());
}

void write_label(ImFont* font, shell::Color color, std::string_view text) {
  const Ink ink(font, color);
  ImGui::AlignTextToFramePadding();
  write(font, color, text);
}

void write_wrapped(ImFont* font, shell::Color color, std::string_view text, float end) {
  ImGui::PushTextWrapPos(end);
  write(font, color, text);
  ImGui::PopTextWrapPos();
}

void put_text(ImFont* font, glm::vec2 top_left, shell::Color color, std::string_view text) {
  if (text.empty()) return;
  ImGui::GetWindowDrawList()->AddText(font, font_size(font), to_imgui(top_left), color, text.data(),
                                      text.data() + text.size());
}

void fill_rect(glm::vec2 low, glm::vec2 high, shell::Color color, float rounding) {
  ImGui::GetWindowDrawList()->AddRectFilled(to_imgui(low), to_imgui(high), color, rounding);
}

void fill_rect(const view::Rect& rect, shell::Color color, float rounding) {
  fill_rect(rect.origin, rect.end(), color, rounding);
}

void outline_rect(glm::vec2 low, glm::vec2 high, shell::Color color, float rounding, float thickness) {
  ImGui::GetWindowDrawList()->AddRect(to_imgui(low), to_imgui(high), color, rounding, 0, thickness);
}

void outline_rect(const view::Rect& rect, shell::Color color, float rounding, float thickness) {
  outline_rect(rect.origin, rect.end(), color, rounding, thickness);
}

void draw_line(glm::vec2 from, glm::vec2 to, shell::Color color, float thickness) {
  ImGui::GetWindowDrawList()->AddLine(to_imgui(from), to_imgui(to), color, thickness);
}

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

void explain_rect(Frame& frame, const view::Rect& explained, std::string_view text) {
  begin_tooltip(frame, explained);
  write_wrapped(frame.ui.fonts().small, frame.ui.theme().text, text, 280.0F);
  end_tooltip(frame);
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
  // The window's flag is cleared once a whole frame had it.
  if (frame.transient.aim.scrolls && frame.transient.aim.control == name) ImGui::SetScrollHereY();
  frame.mark(std::move(name), last_item_rect());
}

bool draw_button(Frame& frame, const char* label, std::string name, const char* explanation, float width) {
  const bool was_clicked = ImGui::Button(label, {width, 0.0F});
  mark_last_item(frame, std::move(name), explanation);
  return was_clicked;
}

bool draw_arrow_button(Frame& frame, const char* id, ImGuiDir direction, std::string name, const char* explanation,
                       bool is_enabled) {
  ImGui::BeginDisabled(!is_enabled);
  const bool was_clicked = ImGui::ArrowButton(id, direction);
  ImGui::EndDisabled();
  mark_last_item(frame, std::move(name), explanation);
  return was_clicked;
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
