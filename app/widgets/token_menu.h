#pragma once

#include "app/frame.h"

namespace headlight::app {

/// The menu of the token that was clicked with the right button (Transient::token_menu): masks what it attends to, and what
/// attends to it, in the maps that the brush paints. Call it once a frame.
class TokenMenu {
 public:
  void draw(Frame& frame);

 private:
  LockedToken token_;  ///< while the menu is open
};

}  // namespace headlight::app
