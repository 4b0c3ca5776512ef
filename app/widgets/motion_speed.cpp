#include "app/widgets/motion_speed.h"

#include <array>

#include <fmt/format.h>
#include <imgui.h>

#include "app/widgets/ink.h"

namespace headlight::app {
namespace {

constexpr std::array kMotionSpeeds = {0.25F, 0.5F, 1.0F, 2.0F, 4.0F};

}  // namespace

void choose_motion_speed(Frame& frame, const std::string& name, const char* explanation, bool has_still) {
  BlockChoices& choices = frame.state.block;
  const bool is_still = has_still && choices.reduces_motion;
  ImGui::PushID(name.c_str());
  ImGui::SetNextItemWidth(kMotionSpeedWidth);
  const bool is_open = ImGui::BeginCombo("##speed", is_still ? "still" : fmt::format("{:g} \u00D7", choices.speed).c_str());
  mark_last_item(frame, name, explanation);
  const auto entry = [&](const std::string& label, const std::string& entry_name, bool is_chosen) {
    const bool was_clicked = ImGui::Selectable(label.c_str(), is_chosen);
    mark_last_item(frame, fmt::format("{}.{}", name, entry_name), explanation);
    if (is_chosen) frame.ui.keyboard().prefer_last();
    return was_clicked;
  };
  if (is_open) {
    if (has_still && entry("still", "still", is_still)) choices.reduces_motion = true;
    for (const float speed : kMotionSpeeds) {
      if (!entry(fmt::format("{:g} \u00D7", speed), fmt::format("{:g}", speed), !is_still && choices.speed == speed))
        continue;
      choices.speed = speed;
      if (has_still) choices.reduces_motion = false;
    }
    ImGui::EndCombo();
  }
  ImGui::PopID();
}

}  // namespace headlight::app
