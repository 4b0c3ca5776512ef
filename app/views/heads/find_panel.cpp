#include "app/views/heads/find_panel.h"

#include "app/widgets/controls.h"
#include "app/widgets/finding.h"

namespace headlight::app {

void draw_note(Frame& frame, const char* name, const std::string& text, std::optional<shell::Color> color) {
  write_note(frame, text, color, name);
  ImGui::Spacing();
}

}  // namespace headlight::app
