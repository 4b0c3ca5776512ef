#include "app/window/dialogs/leave_dialog.h"

#include "app/widgets/controls.h"

namespace headlight::app {

LeaveChoice draw_leave_dialog(Frame& frame, const std::string& session, const std::string& trouble) {
  constexpr float kLeaveWidth = 440.0F, kAnswerWidth = 96.0F;
  bool is_open = true;
  const Dialog dialog(frame, "Unsaved changes", is_open, kLeaveWidth);
  if (!is_open) return LeaveChoice::Stay;
  if (!dialog.is_visible()) return LeaveChoice::None;
  const shell::Theme& theme = frame.ui.theme();
  const std::string question = fmt::format("{} has changes that its file lacks. Save them?", session);
  frame.ui.ensure_glyphs(question + trouble);
  write_wrapped(frame.ui.fonts().body, theme.text, question);
  if (!trouble.empty()) {
    write_wrapped(frame.ui.fonts().small, theme.warning, trouble);
    frame.mark("leave.trouble", last_item_rect());
  }
  ImGui::Spacing();
  LeaveChoice choice = frame.ui.take_key(shell::Key::Enter) ? LeaveChoice::Save : LeaveChoice::None;
  const auto answer = [&](const char* name, const char* label, const char* tip, LeaveChoice chosen) {
    if (draw_button(frame, name, label, tip, kAnswerWidth)) choice = chosen;
  };
  answer("leave.save", trouble.empty() ? "Save" : "Try again", "Writes the session's file, then goes on (Enter).",
         LeaveChoice::Save);
  ImGui::SameLine();
  answer("leave.discard", "Discard", "Goes on; the session's file stays as it is.", LeaveChoice::Discard);
  ImGui::SameLine();
  answer("leave.stay", "Stay", "Back to the session (Esc).", LeaveChoice::Stay);
  return choice;
}

}  // namespace headlight::app
