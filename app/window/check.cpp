#include "app/window/check.h"

#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr float kReportWidth = 780.0F, kStatusColumn = 52.0F, kGroupColumn = 150.0F;

void draw_check_line(Frame& frame, const CheckLine& line) {
  const shell::Theme& theme = frame.ui.theme();
  frame.ui.ensure_glyphs(line.what);
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  const bool is_ok = line.status == CheckStatus::Ok;
  write_text(is_ok ? frame.ui.fonts().small : frame.ui.fonts().strong, is_ok ? theme.text_dim : theme.warning,
             line.status == CheckStatus::Fail ? "FAIL" : to_string(line.status));
  ImGui::TableNextColumn();
  write_text(frame.ui.fonts().small, theme.text_dim, line.group);
  ImGui::TableNextColumn();
  write_wrapped(frame.ui.fonts().small, theme.text, line.name == line.group ? line.what : line.name + ": " + line.what);
}

void draw_device(Frame& frame, const DeviceReport& report, bool is_done) {
  write_text(frame.ui.fonts().strong, frame.ui.theme().text, device_heading(report.device));
  if (ImGui::BeginTable("lines", 3)) {
    ImGui::TableSetupColumn("status", ImGuiTableColumnFlags_WidthFixed, kStatusColumn);
    ImGui::TableSetupColumn("group", ImGuiTableColumnFlags_WidthFixed, kGroupColumn);
    ImGui::TableSetupColumn("what", ImGuiTableColumnFlags_WidthStretch);
    for (const CheckLine& line : report.lines) draw_check_line(frame, line);
    ImGui::EndTable();
  }
  write_wrapped(frame.ui.fonts().body, frame.ui.theme().text, is_done ? summary(report) : "Checking\u2026");
  ImGui::Spacing();
}

}  // namespace

void MachineCheck::open() {
  is_open_ = true;
  if (!job_) job_ = std::make_unique<CheckJob>(CheckOptions{.is_quick = true});
}

double MachineCheck::redraw_after_s() const {
  constexpr double kLook_s = 0.3;
  return is_open_ && !shows_end_ ? kLook_s : std::numeric_limits<double>::infinity();
}

void MachineCheck::dialog(Frame& frame) {
  if (const Dialog dialog(frame, "Check this machine", is_open_, kReportWidth); dialog.is_visible()) draw(frame);
}

void MachineCheck::draw(Frame& frame) {
  constexpr float kAround = 190.0F;  // title bar, sentence, buttons and margins
  const CheckJob::View view = job_->view();
  const bool has_ended = std::exchange(shows_end_, view.is_done) != view.is_done;
  write_wrapped(frame.ui.fonts().small, frame.ui.theme().text_dim,
                "What every Vulkan device of this computer says and computes, in a process of its own. Kernels with wrong "
                "numbers are left out from the next start on.");
  ImGui::Spacing();
  begin_bare_region("report", {0.0F, std::clamp(frame.ui.size().y - kAround, 120.0F, 560.0F)});
  const bool is_at_end = ImGui::GetScrollY() >= ImGui::GetScrollMaxY() - 1.0F;
  std::size_t lines = 0;
  for (std::size_t i = 0; i < view.reports.size(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    draw_device(frame, view.reports[i], view.is_done || i + 1 < view.reports.size());
    ImGui::PopID();
    lines += view.reports[i].lines.size();
  }
  if (view.is_done && view.reports.empty()) ImGui::TextUnformatted("There is no Vulkan device.");
  // New lines are scrolled to, once the region knows how high they are, unless the user has scrolled back.
  if ((std::exchange(drawn_, lines) != lines || has_ended) && is_at_end) frames_to_scroll_ = 3;
  if (frames_to_scroll_ > 0) {
    --frames_to_scroll_;
    ImGui::SetScrollHereY(1.0F);
    frame.ui.request_redraw(2);
  }
  ImGui::EndChild();
  ImGui::Spacing();
  if (draw_button(frame, "check.copy", "Copy report", "Copies all of it as JSON, without paths, for an issue.")) {
    ImGui::SetClipboardText(report_json(view.reports, job_->options().is_quick).c_str());
    desk_.tell("The report is on the clipboard.");
  }
  if (!view.is_done || !job_->options().is_quick) return;
  ImGui::SameLine();
  if (draw_button(frame, "check.all", "Check every kernel", "Takes a minute, on a processor several.")) {
    job_ = std::make_unique<CheckJob>(CheckOptions{});
    shows_end_ = false;
  }
}

}  // namespace headlight::app
