#include "app/widgets/dialog.h"

#include <algorithm>

#include "app/widgets/ink.h"

namespace headlight::app {

Dialog::Dialog(Frame& frame, const char* title, bool& is_open, float width) {
  constexpr float kMargin = 16.0F;
  if (is_open && !ImGui::IsPopupOpen(title)) ImGui::OpenPopup(title);
  if (!is_open) return;
  const glm::vec2 window = frame.ui.size();
  ImGui::SetNextWindowPos(to_imgui(window * 0.5F), ImGuiCond_Always, {0.5F, 0.5F});
  const float fitting = std::min(width, window.x - 2.0F * kMargin);
  ImGui::SetNextWindowSizeConstraints({fitting, 0.0F}, {fitting, window.y - 2.0F * kMargin});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(20.0F, 16.0F));
  is_visible_ = ImGui::BeginPopupModal(title, &is_open, ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoMove);
  ImGui::PopStyleVar();
  if (!is_open && is_visible_) ImGui::CloseCurrentPopup();
}

Dialog::~Dialog() {
  if (is_visible_) ImGui::EndPopup();
}

}  // namespace headlight::app
