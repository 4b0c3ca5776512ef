#pragma once

#include "app/frame.h"

namespace headlight::app {

/// The facts for the status line that aren't in the frame.
struct StatusContext {
  bool is_computing = false;
  float left = 12.0F;          ///< where the line may begin, from the window's left edge
  std::string job;             ///< an export under way: "Exporting 3 of 12"; empty without one
  bool verifies_head = false;  ///< asks for the selected head's verification and says what it found
};

/// Draws the line at the bottom: verification, device, GPU time of the last run, tokens, model size; at the right what is
/// going on, or the one line that says why the newest change can't be shown.
void draw_status_panel(Frame& frame, const StatusContext& context);

}  // namespace headlight::app
