#pragma once

#include "app/frame.h"
#include "app/state/undo.h"

namespace headlight::app {

/// Draws a window above the views that lists every step of the history, branches too: what changed, and the state that it
/// led to. It stays open while the user works. Returns the id of the clicked step.
std::optional<std::uint64_t> draw_history_window(Frame& frame, Undo& undo, bool& is_open);

}  // namespace headlight::app
