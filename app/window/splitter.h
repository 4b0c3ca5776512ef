#pragma once

#include "app/shell/theme.h"
#include "chart/viewport.h"

namespace headlight::app {

/// The use of a splitter in this frame.
struct SplitterUse {
  std::optional<glm::vec2> dragged_to;  ///< the pointer's place while it is dragged
  bool is_double_clicked = false;
};

/// Draws a line between panes in a strip that can be dragged: upright where the strip is higher than wide.
SplitterUse use_splitter(const char* name, const chart::Rect& strip, shell::Color color, shell::Color hot);

}  // namespace headlight::app
