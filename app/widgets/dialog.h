#pragma once

#include "app/frame.h"

namespace headlight::app {

/// A dialog in the middle of the window that dims the content behind it; content is drawn while is_visible().
///   if (Dialog dialog(frame, "Export", is_open, 560.0F); dialog.is_visible()) { … }
class Dialog {
 public:
  /// Opens when `is_open` is set, and clears it when the user closes it. `width` in UI units, less in a small window.
  Dialog(Frame& frame, const char* title, bool& is_open, float width);
  ~Dialog();
  Dialog(const Dialog&) = delete;
  Dialog& operator=(const Dialog&) = delete;

  bool is_visible() const { return is_visible_; }

 private:
  bool is_visible_ = false;
};

}  // namespace headlight::app
