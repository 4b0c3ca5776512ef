#pragma once

#include <string_view>

#include "app/frame.h"

namespace headlight::app {

/// Encoder | Decoder | Cross, where the network has more than one kind of attention: selects a head of the chosen one.
/// `name`: of the buttons, as in "grid.kind".
void choose_kind(Frame& frame, std::string_view name);

}  // namespace headlight::app
