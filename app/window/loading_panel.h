#pragma once

#include "app/engine/engine.h"
#include "app/frame.h"

namespace headlight::app {

/// What is on its way to the screen.
struct Arrival {
  std::string name;                             ///< of the model or notebook
  std::optional<LoadProgress> progress;         ///< of weights; none: they are not being loaded just now
  std::optional<CompileProgress> kernels = {};  ///< that its first run waits for, behind the weights
  std::optional<PassProgress> pass = {};        ///< of its first run, where that takes long
};

/// Dims the whole current window, which covers what was shown before, and says in the middle what is being loaded, how
/// far it is, and offers to give up. Returns whether that was chosen.
bool draw_loading_panel(Frame& frame, const Arrival& arrival);

/// Dims the whole current window, which covers what belongs to other inputs than the present ones, and says at its top why
/// that is still there: `error`, or how far the computation is.
void draw_stale_panel(Frame& frame, const std::string& error, const Arrival& arrival);

}  // namespace headlight::app
