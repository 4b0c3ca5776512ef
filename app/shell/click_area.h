#pragma once

#include <algorithm>

#include "imgui.h"

namespace headlight {

/// An area that the pointer can be over and click, in place of ImGui::InvisibleButton, which ends the program where an edge
/// is 0: in a small window a column or a picture may have no room left. Returns whether it was clicked.
inline bool click_area(const char* name, ImVec2 size) {
  return ImGui::InvisibleButton(name, {std::max(size.x, 1.0F), std::max(size.y, 1.0F)});
}

}  // namespace headlight
