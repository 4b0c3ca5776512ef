#include "app/widgets/line_layout.h"

#include <imgui.h>

namespace headlight::app {

float button_width(const char* label) {
  return ImGui::CalcTextSize(label, nullptr, true).x + 2.0F * ImGui::GetStyle().FramePadding.x;
}

void continue_line(float width, float gap) {
  const float end = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x;
  if (end + gap + width <= ImGui::GetContentRegionMax().x) ImGui::SameLine(0.0F, gap);
}

}  // namespace headlight::app
