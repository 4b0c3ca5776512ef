#include "app/widgets/head_controls.h"

#include <string>

#include <fmt/format.h>

#include "app/widgets/gain_control.h"
#include "app/widgets/ink.h"
#include "app/widgets/kind_choice.h"
#include "app/widgets/line_layout.h"

namespace headlight::app {
namespace {

constexpr float kControlGap = 14.0F;

/// "Layer ‹ 3 ›": returns the choice among 0 … count − 1.
std::uint32_t draw_stepper(Frame& frame, const char* name, const char* label, std::uint32_t value, std::uint32_t count) {
  ImGui::PushID(name);
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(label);
  ImGui::SameLine(0.0F, 6.0F);
  const bool goes_back = draw_arrow_button(frame, "previous", ImGuiDir_Left, fmt::format("control.{}.previous", name),
                                           fmt::format("The {} before", name).c_str(), value > 0);
  ImGui::SameLine(0.0F, 4.0F);
  ImGui::Text("%*u", count > 10 ? 2 : 1, value);
  ImGui::SameLine(0.0F, 4.0F);
  const bool goes_on = draw_arrow_button(frame, "next", ImGuiDir_Right, fmt::format("control.{}.next", name),
                                         fmt::format("The next {}", name).c_str(), value + 1 < count);
  ImGui::PopID();
  return goes_back ? value - 1 : goes_on ? value + 1 : value;
}

}  // namespace

void draw_head_controls(Frame& frame) {
  choose_kind(frame, "control.kind");
  Selection& selection = frame.state.selection;
  const auto shape = frame.result.shapes.find(selection.block);
  if (shape == frame.result.shapes.end()) return;
  std::uint32_t layers = 0;
  for (const auto& [block, other] : frame.result.shapes) layers += block.kind == selection.block.kind ? 1 : 0;
  const float begin = ImGui::GetCursorPosX();
  model::BlockRef block = selection.block;
  block.layer.value = draw_stepper(frame, "layer", "Layer", block.layer.value, layers);
  ImGui::SameLine(0.0F, kControlGap);
  const std::uint32_t head = draw_stepper(frame, "head", "Head", selection.head, shape->second.heads);
  if (block != selection.block || head != selection.head) {
    select_head(selection, block, head);
    clamp_selection(frame.state, frame.result.shapes);
  }
  if (shape->second.d_output == 0) return;  // without an output projection a gain would do nothing
  continue_line(gain_control_width(frame), kControlGap);
  if (ImGui::GetCursorPosX() < begin) ImGui::SetCursorPosX(begin);
  draw_gain_control(frame);
}

}  // namespace headlight::app
