#pragma once

#include <string>

#include "app/frame.h"

namespace headlight::app {

/// The one label of buttons that put a view's numbers on the clipboard.
inline constexpr const char* kCopyCsv = "Copy CSV";
inline constexpr float kCopyGap = 12.0F;  ///< to what is left of it

/// "Copy CSV" at the right end of the last item's line, or on the next line where that one is full. `name` and
/// `explanation`: as of mark_last_item. Returns whether it was clicked.
bool draw_copy_button(Frame& frame, std::string name, const char* explanation);

}  // namespace headlight::app
