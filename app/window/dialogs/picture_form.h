#pragma once

#include "app/commands/command_host.h"
#include "app/shell/ui.h"
#include "app/widgets/folder_list.h"

namespace headlight::app {

struct Picture {
  std::filesystem::path path;
  ScreenshotArea area = ScreenshotArea::Window;
  bool is_figure = false;  ///< instead: the view's figure for a paper, as SVG or PDF by the path's ending
};

/// The part of the Export dialog that saves what is on screen: as a PNG, or the view's figure as SVG or PDF. The
/// picture is taken a few frames later, when the dialog is gone from the window.
class PictureForm {
 public:
  /// Proposes a name in `folder`; in the user's home folder when that is empty. The name is selected.
  void open(const std::string& folder, ScreenshotArea area);
  void close() { files_.close(); }
  bool is_waiting() const { return frames_to_wait_ > 0; }

  /// Draws into the dialog. True: the picture is taken when the dialog is closed now.
  bool draw(Frame& frame);
  /// Returns the picture's choices once, after the frame that shows the window as it is to be saved.
  std::optional<Picture> take();

 private:
  void draw_area(Frame& frame);
  /// Returns whether Enter was pressed in the field.
  bool draw_path(Frame& frame);
  bool confirm();

  std::string typed_, trouble_;
  ScreenshotArea area_ = ScreenshotArea::Window;
  bool is_figure_ = false;
  FolderList files_{{".svg", ".pdf", ".png"}};
  shell::FieldFocus focus_ = shell::FieldFocus::None;
  std::optional<std::filesystem::path> path_;
  int frames_to_wait_ = 0;
};

}  // namespace headlight::app
