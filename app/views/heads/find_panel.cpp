#include "app/views/heads/find_panel.h"

#include <imgui.h>

#include "app/widgets/controls.h"
#include "app/widgets/head_tools.h"

namespace headlight::app {

void draw_note(Frame& frame, const char* name, const std::string& text, shell::Color color) {
  const Ink ink(frame.ui.fonts().small, color);
  ImGui::PushTextWrapPos(0.0F);
  ImGui::TextUnformatted(text.c_str());
  ImGui::PopTextWrapPos();
  frame.mark(name, last_item_rect());
  ImGui::Spacing();
}

void go_to_head(Frame& frame, const HeadRef& head, bool opens) {
  if (opens) return open_head(frame, head);
  select_head(frame.state.selection, head.block, head.head);
  frame.ui.request_redraw(2);
}

}  // namespace headlight::app
