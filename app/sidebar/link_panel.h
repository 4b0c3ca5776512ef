#pragma once

#include <filesystem>

#include "app/link/link_server.h"
#include "app/widgets/form.h"

namespace headlight::app {

/// What was chosen in the panel of a live link.
struct LinkChoice {
  std::optional<std::size_t> step = {};  ///< an index of the snapshot's steps
  bool follows_newest = true;
};

/// A slider over the steps that a program has sent, and whether the newest is shown as it comes. `shown`: the index of the
/// step on show.
LinkChoice draw_link_panel(Frame& frame, NumberBeingTyped& typed, const LinkSnapshot& link, std::size_t shown,
                           bool follows_newest);

}  // namespace headlight::app
