#pragma once

namespace headlight::app {

// Controls that follow each other in a line where there is room.

/// The width of ImGui::Button(label) in the current font, without what follows "##".
float button_width(const char* label);

/// Begins the next item, of so much width, in the line of the last one, `gap` behind it; in a line of its own where it
/// wouldn't fit into the window.
void continue_line(float width, float gap);

}  // namespace headlight::app
