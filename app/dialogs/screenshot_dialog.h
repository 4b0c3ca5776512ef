#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "app/commands/command_host.h"
#include "app/frame.h"

namespace headlight::app {

struct Screenshot {
  std::filesystem::path path;
  ScreenshotArea area = ScreenshotArea::Window;
  bool is_figure = false;  ///< instead: the view's figure for a paper, as SVG, PDF or PNG by the path's ending
};

/// Asks what of the window to save as a PNG, or whether the view's figure as SVG, PDF or PNG, and where. The screenshot is
/// taken a few frames later, when the dialog is gone from the window.
class ScreenshotDialog {
 public:
  /// Proposes a name in `folder`; in the user's home folder when that is empty.
  void open(const std::string& folder, ScreenshotArea area);
  void close() { is_open_ = false; }
  bool is_open() const { return is_open_; }
  bool is_waiting() const { return frames_to_wait_ > 0; }

  void draw(Frame& frame);
  /// Once, after the frame that shows the window as it is to be saved.
  std::optional<Screenshot> take();

 private:
  bool is_open_ = false;
  std::string typed_;
  std::string trouble_;
  ScreenshotArea area_ = ScreenshotArea::Window;
  bool is_figure_ = false;
  std::optional<std::filesystem::path> path_;
  int frames_to_wait_ = 0;
};

}  // namespace headlight::app
