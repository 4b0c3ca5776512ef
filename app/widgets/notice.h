#pragma once

#include <string>

#include "app/frame.h"

namespace headlight::app {

/// A message under the menu bar, until the user closes it.
struct Notice {
  std::string text;  ///< empty: nothing
  bool is_warning = false;

  bool is_shown() const { return !text.empty(); }
};

/// A message about a key's or a menu entry's change of the model. It disappears by itself.
struct Toast {
  std::string text;  ///< empty: nothing
  double until_s = 0.0;
  bool can_undo = false;

  bool is_shown() const { return !text.empty(); }
};

/// The clicked part at the left end of the status line.
struct StatusChoice {
  bool resets_model = false;  ///< the chip's Reset
  bool undoes = false;        ///< the toast's Undo
  float end = 0.0F;           ///< the right end, from the window's left edge
};

/// At the left of the status line, which is the current window: a chip that stays while the model differs from its training
/// (`departures`, empty: it is), and beside it the toast.
StatusChoice draw_model_remarks(Frame& frame, const std::string& model_changes, const Toast& toast);

/// Draws it into the whole current child region; clears it when it is closed.
void draw_notice_panel(Frame& frame, Notice& notice);

/// Drawn instead of the map while there is no run: that it is being computed, or the error.
void draw_empty_panel(Frame& frame, bool is_computing);

}  // namespace headlight::app
