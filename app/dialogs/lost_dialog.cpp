#include "app/dialogs/lost_dialog.h"

#include "app/state/model_changes.h"
#include "app/state/source.h"
#include "app/widgets/controls.h"
#include "platform/clock.h"

namespace headlight::app {
namespace {

constexpr float kLostWidth = 640.0F, kLostButton = 72.0F;

std::string what_it_showed(const State& state) {
  std::string text = state.text();
  std::ranges::replace(text, '\n', ' ');
  return text.empty() ? "(no text)" : text;
}

/// When, what and why, in one line.
std::string circumstances(const LostWindow& lost) {
  std::string line = platform::local_time(lost.kept_s);
  const auto add = [&line](const std::string& more) {
    if (!more.empty()) line += " \u00B7 " + more;
  };
  const Source& source = lost.window.state.source;
  add(utf8(std::filesystem::path(model_path(source) + capture_path(source) + notebook_name(source)).filename()));
  add(model_changes(lost.window.state));
  if (!lost.window.session.empty()) add("session " + session_name(lost.window.session));
  add(lost.has_ended_start ? "its start ended the program" : std::string());
  add(lost.end.empty() && !lost.has_ended_start ? "killed, crashed or without power" : lost.end);
  return line;
}

}  // namespace

std::optional<LostChoice> LostDialog::draw(Frame& frame) {
  using Action = LostChoice::Action;
  constexpr float kAround = 190.0F, kHighest = 420.0F;  // title bar, sentence, button and margins
  const Dialog dialog(frame, "Lost windows", is_open_, kLostWidth);
  if (!dialog.is_visible()) return std::nullopt;
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  write_wrapped(fonts.small, theme.text_dim,
                windows_.empty() ? "Every window was closed, or goes on."
                                 : fmt::format("These ended without being closed. Undo brings back what is shown now. They "
                                               "are kept for 30 days, {} at most.",
                                               KeptWindow::kMaxLost));
  std::optional<LostChoice> choice;
  if (windows_.empty()) return choice;
  ImGui::Spacing();
  const float row = font_size(fonts.body) + font_size(fonts.small) + 16.0F;
  const float wanted = static_cast<float>(windows_.size()) * (row + ImGui::GetStyle().ItemSpacing.y);
  begin_bare_region("lost", {0.0F, std::min({wanted, kHighest, std::max(frame.ui.size().y - kAround, row)})});
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const LostWindow& lost = windows_[i];
    const glm::vec2 at = to_glm(ImGui::GetCursorScreenPos());
    const float buttons = 2.0F * kLostButton + ImGui::GetStyle().ItemSpacing.x;
    const float width = ImGui::GetContentRegionAvail().x - buttons - 12.0F;
    const std::string text = what_it_showed(lost.window.state), about = circumstances(lost);
    frame.ui.ensure_glyphs(text + about);
    put_text(fonts.body, {at.x, at.y + 4.0F}, theme.text, fit_text(fonts.body, frame.ui.shaped(text), width));
    put_text(fonts.small, {at.x, at.y + font_size(fonts.body) + 8.0F}, theme.text_dim,
             fit_text(fonts.small, frame.ui.shaped(about), width));
    frame.mark(fmt::format("lost.{}", i), {.origin = at, .size = {width, row}});
    ImGui::PushID(static_cast<int>(i));
    ImGui::SetCursorScreenPos({at.x + width + 12.0F, at.y + std::round((row - ImGui::GetFrameHeight()) * 0.5F)});
    if (draw_button(frame, fmt::format("lost.open.{}", i), "Open", "Goes on with this window here.", kLostButton))
      choice = {.action = Action::Open, .windows = {lost}};
    ImGui::SameLine();
    if (draw_button(frame, fmt::format("lost.delete.{}", i), "Delete", "Deletes what is kept of it.", kLostButton))
      choice = {.action = Action::Delete, .windows = {lost}};
    ImGui::PopID();
    ImGui::SetCursorScreenPos({at.x, at.y + row});
    ImGui::Dummy({0.0F, 0.0F});
  }
  ImGui::EndChild();
  ImGui::Spacing();
  if (draw_button(frame, "lost.delete_all", "Delete all", "Deletes what is kept of all of them."))
    choice = {.action = Action::Delete, .windows = windows_};
  return choice;
}

}  // namespace headlight::app
