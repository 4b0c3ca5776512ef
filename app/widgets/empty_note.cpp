#include "app/widgets/empty_note.h"

#include <algorithm>
#include <cmath>

#include "app/widgets/ink.h"

namespace headlight::app {

void draw_empty_note(Frame& frame, const std::string& name, const std::string& title, const std::string& text) {
  const float width = std::min(ImGui::GetContentRegionAvail().x - 32.0F, 460.0F);
  const float left = ImGui::GetCursorPosX() + std::round((ImGui::GetContentRegionAvail().x - width) * 0.5F);
  ImGui::SetCursorPos({left, std::round(ImGui::GetWindowHeight() * 0.34F)});
  ImGui::PushTextWrapPos(left + width);
  write(frame.ui.fonts().title, frame.ui.theme().text, title);
  frame.mark(name, last_item_rect());
  ImGui::SetCursorPosX(left);
  write(frame.ui.fonts().body, frame.ui.theme().text_dim, text);
  ImGui::PopTextWrapPos();
}

void go_below_note() {
  const float left = ImGui::GetItemRectMin().x;
  ImGui::Spacing();
  ImGui::SetCursorScreenPos({left, ImGui::GetCursorScreenPos().y});
}

}  // namespace headlight::app
