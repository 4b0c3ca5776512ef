#include "app/window/dialogs/lost_dialog.h"

#include <chrono>

#include "app/state/model_changes.h"
#include "app/state/source.h"
#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

/// Returns "3 hours ago".
std::string age(const LostWindow& lost) {
  using namespace std::chrono;
  const std::int64_t minutes = (duration_cast<seconds>(system_clock::now().time_since_epoch()).count() - lost.kept_s) / 60;
  if (minutes < 120) return fmt::format("{} min ago", std::max(minutes, std::int64_t{0}));
  return minutes < 48 * 60 ? fmt::format("{} hours ago", minutes / 60) : fmt::format("{} days ago", minutes / (24 * 60));
}

/// Describes when the window was kept, why it ended, and what it showed.
std::string circumstances(const LostWindow& lost) {
  const Source& source = lost.window.state.source;
  std::string line = age(lost);
  for (const std::string& part :
       {!lost.end.empty() ? lost.end
                          : std::string(lost.has_ended_start ? "its start ended the program" : "killed or crashed"),
        session_name(lost.window.session), model_path(source) + capture_path(source) + notebook_name(source),
        model_changes(lost.window.state)}) {
    if (!part.empty()) line += " \u00B7 " + part;
  }
  return line;
}

}  // namespace

std::optional<LostChoice> LostDialog::draw(Frame& frame) {
  using Action = LostChoice::Action;
  constexpr float kLostWidth = 720.0F, kLostButton = 72.0F, kGap = 12.0F;
  constexpr float kAround = 190.0F;  // title bar, sentence, button and margins
  const Dialog dialog(frame, "Lost windows", is_open_, kLostWidth);
  if (!dialog.is_visible()) return std::nullopt;
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  write_wrapped(fonts.small, theme.text_dim,
                windows_.empty()
                    ? "Every window was closed, or goes on."
                    : "Windows that ended without being closed. 20 are kept, for 30 days. Undo brings back what "
                      "is shown.");
  std::optional<LostChoice> choice;
  if (windows_.empty()) return choice;
  ImGui::Spacing();
  const float row = font_size(fonts.body) + font_size(fonts.small) + 2.5F * ImGui::GetStyle().ItemSpacing.y;
  begin_bare_region("lost", {0.0F, std::min(static_cast<float>(windows_.size()) * row, frame.ui.size().y - kAround)});
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const auto offer = [&](const char* label, const char* tip, Action action) {
      const std::string name = fmt::format("lost.{}.{}", label, i);
      if (draw_button(frame, name, label, tip, kLostButton)) choice = {.action = action, .windows = {windows_[i]}};
    };
    const float room = ImGui::GetContentRegionAvail().x - 2.0F * (kLostButton + kGap);
    const auto write_line = [&](ImFont* font, shell::Color color, std::string text) {
      std::ranges::replace(text, '\n', ' ');
      frame.ui.ensure_glyphs(text);
      write_text(font, color, fit_text(font, frame.ui.shaped(text), room));
    };
    ImGui::PushID(static_cast<int>(i));
    ImGui::BeginGroup();
    write_line(fonts.body, theme.text, windows_[i].window.state.text());
    write_line(fonts.small, theme.text_dim, circumstances(windows_[i]));
    ImGui::EndGroup();
    ImGui::SameLine(room + kGap);
    offer("Open", "Goes on with this window here.", Action::Open);
    ImGui::SameLine();
    offer("Delete", "Deletes what is kept of it.", Action::Delete);
    ImGui::PopID();
  }
  ImGui::EndChild();
  if (draw_button(frame, "lost.all", "Delete all", "Deletes what is kept of all of them."))
    choice = {.action = Action::Delete, .windows = windows_};
  return choice;
}

}  // namespace headlight::app
