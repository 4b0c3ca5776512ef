#pragma once

#include "app/frame.h"

namespace headlight::app {

/// A message over the lower end of the window, which moves nothing: until it was there for a while, or the user closes it.
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
  bool fits_colors = false;  ///< the Fit of a fixed colour range
  bool undoes = false;       ///< the toast's Undo
  float end = 0.0F;          ///< the right end, from the window's left edge
};

/// Draws, at the left of the status line, which is the current window, a chip while the colours' range is fixed, which
/// `fixed_range` describes, else empty: each map has its own; and beside it the toast.
StatusChoice draw_remarks(Frame& frame, const std::string& fixed_range, const Toast& toast);

/// Returns the notice's width in UI units, at most `most`.
float notice_width(const Frame& frame, const Notice& notice, float most);
inline constexpr float kNoticeHeight = 36.0F;
/// Draws it into the whole current window; clears it when it is closed.
void draw_notice_panel(Frame& frame, Notice& notice);

/// Is there a button that makes the refused text one that can be shown? And draw it.
bool has_cure(const Frame& frame);
void draw_cure(Frame& frame);

/// Draws, instead of the map while there is no run, that it is being computed, or the error.
void draw_empty_panel(Frame& frame, bool is_computing);

}  // namespace headlight::app
