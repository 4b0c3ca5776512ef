#pragma once

#include <vector>

#include "app/engine.h"
#include "app/state.h"
#include "shell/ui.h"

namespace headlight::app {

/// What every panel gets, once a frame. A panel is a function `void draw_<name>_panel(Frame&)` in a file of its own: it reads
/// the result, changes the state, wishes for tiles, and calls no other panel. Computation starts because the state changed.
struct Frame {
  shell::Ui& ui;
  State& state;
  Transient& transient;
  const EngineResult& result;
  /// Tiles that this frame shows, most important first; the viewer hands them to the engine after the frame.
  std::vector<attention::TileRequest>& wishes;

  /// The tile if it is known, and a wish for it in any case.
  const attention::Tile* tile(const attention::TileRequest& request) {
    wishes.push_back(request);
    return result.tile(request);
  }
};

}  // namespace headlight::app
