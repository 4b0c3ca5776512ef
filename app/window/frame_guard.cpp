#include "app/window/frame_guard.h"

#include <algorithm>

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

/// Takes the stacks of the current window back to where it began.
void recover_window() {
#if IMGUI_VERSION_NUM >= 19130
  ImGuiContext& context = *ImGui::GetCurrentContext();
  const ImGuiIO before = context.IO;
  context.IO.ConfigErrorRecoveryEnableAssert = context.IO.ConfigErrorRecoveryEnableTooltip = false;
  context.IO.ConfigErrorRecoveryEnableDebugLog = false;
  ImGuiErrorRecoveryState begun = context.CurrentWindowStack.back().StackSizesInBegin;
  ++begun.SizeOfFocusScopeStack;  // the window's own, which its end takes back
  ImGui::ErrorRecoveryTryToRecoverWindowState(&begun);
  context.IO.ConfigErrorRecoveryEnableAssert = before.ConfigErrorRecoveryEnableAssert;
  context.IO.ConfigErrorRecoveryEnableTooltip = before.ConfigErrorRecoveryEnableTooltip;
  context.IO.ConfigErrorRecoveryEnableDebugLog = before.ConfigErrorRecoveryEnableDebugLog;
#else
  ImGui::ErrorCheckEndWindowRecover(nullptr);
#endif
}

}  // namespace

FrameGuard::FrameGuard() {
  const ImGuiContext& context = *ImGui::GetCurrentContext();
  window_count_ = context.CurrentWindowStack.Size;
  color_count_ = context.ColorStack.Size;
  style_count_ = context.StyleVarStack.Size;
  font_count_ = context.FontStack.Size;
}

void FrameGuard::unwind() const {
  const ImGuiContext& context = *ImGui::GetCurrentContext();
  while (context.CurrentWindowStack.Size > window_count_) {
    close_tables(context);
    recover_window();
    const bool is_child = (context.CurrentWindow->Flags & ImGuiWindowFlags_ChildWindow) != 0;
    is_child ? ImGui::EndChild() : ImGui::End();
  }
  close_tables(context);
  recover_window();
  // ImGui's recovery goes back to where a window began; what was taken off the stacks since then, it leaves that much too
  // high.
  ImGui::PopStyleColor(std::max(context.ColorStack.Size - color_count_, 0));
  ImGui::PopStyleVar(std::max(context.StyleVarStack.Size - style_count_, 0));
  while (context.FontStack.Size > font_count_) ImGui::PopFont();
}

bool close_popups() {
  const ImGuiContext& context = *ImGui::GetCurrentContext();
  if (context.OpenPopupStack.empty()) return false;
  ImGui::ClosePopupToLevel(0, true);
  return true;
}

}  // namespace headlight::app
