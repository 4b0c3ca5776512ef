#include "app/window/frame_guard.h"

#include <imgui.h>
#include <imgui_internal.h>

namespace headlight::app {
namespace {

/// Tables first: ImGui's recovery ends them without taking back the ids that were pushed inside, and then asserts.
void close_tables(const ImGuiContext& context) {
  while (ImGuiTable* table = context.CurrentTable) {
    if (table->OuterWindow != context.CurrentWindow && table->InnerWindow != context.CurrentWindow) return;
    const ImGuiID begun = table->ID + static_cast<ImGuiID>(table->InstanceCurrent);
    while (table->InnerWindow->IDStack.Size > 1 && table->InnerWindow->IDStack.back() != begun) ImGui::PopID();
    ImGui::EndTable();
  }
}

}  // namespace

FrameGuard::FrameGuard() : window_count_(ImGui::GetCurrentContext()->CurrentWindowStack.Size) {}

void FrameGuard::unwind() const {
  const ImGuiContext& context = *ImGui::GetCurrentContext();
  while (context.CurrentWindowStack.Size > window_count_) {
    close_tables(context);
    ImGui::ErrorCheckEndWindowRecover(nullptr);
    const bool is_child = (context.CurrentWindow->Flags & ImGuiWindowFlags_ChildWindow) != 0;
    is_child ? ImGui::EndChild() : ImGui::End();
  }
  close_tables(context);
  ImGui::ErrorCheckEndWindowRecover(nullptr);
}

bool close_popups() {
  const ImGuiContext& context = *ImGui::GetCurrentContext();
  if (context.OpenPopupStack.empty()) return false;
  ImGui::ClosePopupToLevel(0, true);
  return true;
}

}  // namespace headlight::app
