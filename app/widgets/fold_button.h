#pragma once

#include "app/frame.h"

namespace headlight::app {

/// The side panel that a button folds or opens.
enum class FoldSide : std::uint8_t { Left, Right };

inline constexpr float kFoldButtonEdge = 26.0F;

/// An icon of the window with that side panel in it, `kFoldButtonEdge` wide and high. True when it was clicked.
bool draw_fold_button(Frame& frame, const char* name, FoldSide side, glm::vec2 origin);

/// The rail of a folded panel at the window's edge, in the whole current pane: the button and the panel's title, vertical.
/// The whole rail can be clicked.
bool draw_rail(Frame& frame, const char* name, FoldSide side, const char* title);

}  // namespace headlight::app
