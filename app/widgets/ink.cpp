#include "app/widgets/ink.h"

#include <utility>

#include "app/widgets/tooltips.h"

namespace headlight::app {
namespace {

void show_tooltip(Frame& frame, std::string_view text) {
  if (text.empty() || !ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled) || !frame.ui.wants_tooltip()) return;
  ImGui::BeginTooltip();
  {
    const Ink ink(frame.ui.fonts().small, frame.ui.theme().text);
    ImGui::PushTextWrapPos(280.0F);
    ImGui::TextUnformatted(text.data(), text.data() + text.size());
    ImGui::PopTextWrapPos();
  }
  ImGui::EndTooltip();
}

}  // namespace

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
