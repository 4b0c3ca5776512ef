#pragma once

#include <optional>
#include <string>

#include "app/analyses/patch_effects.h"
#include "app/frame.h"

namespace headlight::app {

/// Activations of a cell of the map can be dragged to another one, or onto a button. The last item is where they begin:
/// `words` are shown at the pointer while they are on their way.
void begin_drag(const PatchCell& cell, const std::string& words);
/// The cell whose activations were dropped on the last item in this frame.
std::optional<PatchCell> dropped_on_last_item();

}  // namespace headlight::app
