#pragma once

#include <filesystem>

#include "app/shell/heatmap_renderer.h"
#include "app/shell/pixels.h"
#include "app/shell/render_device.h"
#include "app/shell/ui.h"
#include "app/window/viewer.h"
#include "app/window/workspace.h"

namespace headlight::app {

/// The viewer without a window: its engine, the device that draws, and the workspace between them.
class OffscreenViewer {
 public:
  /// Opens the viewer. `wake` is called from the engine's thread when there is something new, also before this has returned.
  /// Throws Error in one line when there is no device.
  explicit OffscreenViewer(const ScreenshotOptions& options, std::function<void()> wake = {});

  shell::Ui& ui() { return ui_; }
  Workspace& workspace() { return workspace_; }

 private:
  WorkspaceOptions setup_;  // first: its engine computes while the device that draws is opened
  shell::RenderDevice device_;
  shell::Ui ui_;
  Workspace workspace_;
};

/// Writes a finished frame as PNG; creates the folder. Throws Error naming the file and the reason.
void write_png(const std::filesystem::path& path, const shell::PixelImage& image);

/// Returns the part of an image inside `rect`, which is in UI units of `scale` pixels; what is outside the image is left
/// out.
shell::PixelImage cropped(const shell::PixelImage& image, const chart::Rect& rect, float scale);

}  // namespace headlight::app
