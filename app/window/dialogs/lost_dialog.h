#pragma once

#include "app/frame.h"
#include "app/state/kept_window.h"

namespace headlight::app {

/// The user's choice for lost windows: one of them, or all.
struct LostChoice {
  enum class Action : std::uint8_t { Open, Delete };

  Action action = Action::Open;
  std::vector<LostWindow> windows;
};

/// Lists windows that ended without being closed: what they showed, when they were kept, and what ended them.
class LostDialog {
 public:
  void open(std::vector<LostWindow> windows) {
    windows_ = std::move(windows);
    is_open_ = true;
  }
  void close() { is_open_ = false; }
  bool is_open() const { return is_open_; }

  std::optional<LostChoice> draw(Frame& frame);

 private:
  bool is_open_ = false;
  std::vector<LostWindow> windows_;
};

}  // namespace headlight::app
