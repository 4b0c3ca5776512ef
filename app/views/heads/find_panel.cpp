#include "app/views/heads/find_panel.h"

#include "app/widgets/controls.h"

namespace headlight::app {

void draw_note(Frame& frame, const char* name, const std::string& text, shell::Color color) {
  const Ink ink(frame.ui.fonts().small, color);
  ImGui::PushTextWrapPos(0.0F);
  ImGui::TextUnformatted(text.c_str());
  ImGui::PopTextWrapPos();
  frame.mark(name, last_item_rect());
  ImGui::Spacing();
}

}  // namespace headlight::app
