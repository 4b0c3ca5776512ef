#pragma once

#include "app/analyses/patch_effects.h"
#include "app/frame.h"

namespace headlight::app {

/// Activations of a cell of the map can be dragged to another one, or onto a button. The last item is where they begin:
/// `words` are shown at the pointer while they are on their way. `map`: a number of the map, which may be another one when
/// they are dropped.
void begin_drag(const PatchCell& cell, std::uint64_t map, const std::string& words);
/// The cell of this map whose activations were dropped on the last item in this frame.
std::optional<PatchCell> dropped_on_last_item(std::uint64_t map);

}  // namespace headlight::app
