#include "panels/notice_panel.h"

#include <algorithm>
#include <cmath>

#include "panels/ink.h"

namespace headlight::app {

void draw_notice_panel(Frame& frame, Notice& notice) {
  const shell::Theme& theme = frame.ui.theme();
  const ImVec2 origin = ImGui::GetWindowPos();
  const float width = ImGui::GetWindowWidth();
  const float height = ImGui::GetWindowHeight();
  const shell::Color role = notice.is_warning ? theme.warning : theme.accent;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(origin, {origin.x + width, origin.y + height}, theme.popup);
  list->AddRectFilled(origin, {origin.x + 4.0F, origin.y + height}, role);
  list->AddLine({origin.x, origin.y + height - 0.5F}, {origin.x + width, origin.y + height - 0.5F}, theme.border);

  const float button = ImGui::CalcTextSize("Close").x + 2.0F * ImGui::GetStyle().FramePadding.x;
  ImFont* font = frame.ui.fonts().body;
  const ImVec4 clip(origin.x, origin.y, origin.x + width - button - 24.0F, origin.y + height);
  list->AddText(font, font_size(font), {origin.x + 16.0F, origin.y + std::round((height - font_size(font)) * 0.5F)},
                theme.text, notice.text.c_str(), nullptr, 0.0F, &clip);
  ImGui::SetCursorPos({0.0F, 0.0F});
  ImGui::Dummy({std::max(clip.z - origin.x, 1.0F), height});
  mark_last_item(frame, "notice.text");
  explain_last_item(frame, notice.text.c_str());
  ImGui::SetCursorPos({width - button - 8.0F, std::round((height - ImGui::GetFrameHeight()) * 0.5F)});
  if (ImGui::Button("Close")) notice = {};
  mark_last_item(frame, "notice.close");
}

void draw_empty_panel(Frame& frame, bool is_computing) {
  const shell::Theme& theme = frame.ui.theme();
  const std::string& error = frame.result.error;
  const bool has_failed = !error.empty();
  const char* title = has_failed ? "Nothing to show yet" : is_computing ? "Preparing the device\u2026" : "";
  const float width = ImGui::GetContentRegionAvail().x;
  const float column = std::min(width - 48.0F, 480.0F);
  ImFont* font = frame.ui.fonts().title;
  const float left = ImGui::GetCursorPosX() + std::round((width - column) * 0.5F);
  ImGui::SetCursorPos({left, std::round(ImGui::GetWindowHeight() * 0.4F)});
  ImGui::PushTextWrapPos(left + column);
  {
    const Ink ink(font, has_failed ? theme.text : theme.text_dim);
    ImGui::TextUnformatted(title);
  }
  if (has_failed) {
    ImGui::SetCursorPosX(left);
    const Ink ink(frame.ui.fonts().body, theme.warning);
    ImGui::TextUnformatted(error.c_str());
    mark_last_item(frame, "empty.error");
  }
  ImGui::PopTextWrapPos();
}

}  // namespace headlight::app
