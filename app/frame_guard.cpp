#include "app/frame_guard.h"

#include <imgui.h>
#include <imgui_internal.h>

namespace headlight::app {

FrameGuard::FrameGuard() : window_count_(ImGui::GetCurrentContext()->CurrentWindowStack.Size) {}

void FrameGuard::unwind() const {
  const ImGuiContext& context = *ImGui::GetCurrentContext();
  while (context.CurrentWindowStack.Size > window_count_) {
    ImGui::ErrorCheckEndWindowRecover(nullptr);
    const bool is_child = (context.CurrentWindow->Flags & ImGuiWindowFlags_ChildWindow) != 0;
    is_child ? ImGui::EndChild() : ImGui::End();
  }
  ImGui::ErrorCheckEndWindowRecover(nullptr);
}

bool close_popups() {
  const ImGuiContext& context = *ImGui::GetCurrentContext();
  if (context.OpenPopupStack.empty()) return false;
  ImGui::ClosePopupToLevel(0, true);
  return true;
}

}  // namespace headlight::app
