#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "app/frame.h"

namespace headlight::app {

/// Asks where to save a picture of the window. The picture is taken a few frames later, when the dialog is gone from it.
class ScreenshotDialog {
 public:
  /// Proposes a name in `folder`; in the person's own folder when that is empty.
  void open(const std::string& folder);
  void close() { is_open_ = false; }
  bool is_open() const { return is_open_; }
  bool is_waiting() const { return frames_to_wait_ > 0; }

  void draw(Frame& frame);
  /// Once, after the frame that shows the window as it is to be saved.
  std::optional<std::filesystem::path> take_path();

 private:
  bool is_open_ = false;
  std::string typed_;
  std::string trouble_;
  std::optional<std::filesystem::path> path_;
  int frames_to_wait_ = 0;
};

}  // namespace headlight::app
