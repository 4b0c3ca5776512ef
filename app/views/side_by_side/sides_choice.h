#pragma once

#include "app/frame.h"

namespace headlight::app {

/// The head that is on the right where SideMap::OtherHead is chosen, as far as the network has it. Of a run with the
/// selected block.
HeadRef other_head(const Frame& frame);

/// A line of controls: what is on the right, and with another head the steps to its neighbours and the exchange of both
/// sides.
void choose_sides(Frame& frame);

}  // namespace headlight::app
