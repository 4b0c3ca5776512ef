#pragma once

#include "app/frame.h"

namespace headlight::app {

/// The side panel that a button folds or opens.
enum class FoldSide : std::uint8_t { Left, Right };

inline constexpr float kFoldButtonEdge = 26.0F;

/// A small picture of the window with that side panel in it, `kFoldButtonEdge` wide and high. True when it was clicked.
bool draw_fold_button(Frame& frame, const char* name, FoldSide side, float x, float y);

/// What a folded panel leaves at the window's edge, in the whole current pane: the button and the panel's title, upright.
/// The whole rail can be clicked.
bool draw_rail(Frame& frame, const char* name, FoldSide side, const char* title);

}  // namespace headlight::app
