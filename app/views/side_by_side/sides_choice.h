#pragma once

#include "app/frame.h"

namespace headlight::app {

/// The head that is on the right where SideMap::OtherHead is chosen: the one that the user chose, as far as the network has
/// it, else the one whose weights differ most from the selected head's, as soon as that is known. Of a run with the selected
/// block.
HeadRef other_head(Frame& frame);

/// A line of controls: what is on the right, and with another head the steps to its neighbours and the exchange of both
/// sides. `other`: on the right now.
void choose_sides(Frame& frame, const HeadRef& other);

}  // namespace headlight::app
