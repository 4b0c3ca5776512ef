#pragma once

#include <string>

#include "app/analyses/analysis.h"
#include "app/frame.h"

namespace headlight::app {

/// "L3 H5's queries", with the kind of attention where there are several; of keys and values that heads share, all of them:
/// "keys of L3 H4 to H7".
std::string receiver_name(const Frame& frame, const HeadRef& receiver);

/// The receiver of path patching, which of its inputs, and whether paths lead through MLPs.
void draw_path_controls(Frame& frame, const HeadRef& receiver);

}  // namespace headlight::app
