#pragma once

#include <string>

#include "app/frame.h"

namespace headlight::app {

/// What the window says once, under the menu bar, until somebody closes it.
struct Notice {
  std::string text;  ///< empty: nothing
  bool is_warning = false;

  bool is_shown() const { return !text.empty(); }
};

/// What a key or a menu entry has just done to the model. It leaves by itself.
struct Toast {
  std::string text;  ///< empty: nothing
  double until_s = 0.0;
  bool can_undo = false;

  bool is_shown() const { return !text.empty(); }
};

/// What was clicked at the left end of the status line.
struct StatusChoice {
  bool resets_model = false;  ///< the chip's Reset
  bool undoes = false;        ///< the toast's Undo
  float end = 0.0F;           ///< where the rest of the line may begin, from the window's left edge
};

/// At the left of the status line, which is the current window: a chip that stays while the model isn't as it was trained
/// (`departures`, empty: it is), and beside it the toast.
StatusChoice draw_model_remarks(Frame& frame, const std::string& model_changes, const Toast& toast);

/// Draws it into the whole current child region; clears it when it is closed.
void draw_notice_panel(Frame& frame, Notice& notice);

/// In place of the map while there is no run to show: that it is coming, or why it can't come.
void draw_empty_panel(Frame& frame, bool is_computing);

}  // namespace headlight::app
