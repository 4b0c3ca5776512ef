#pragma once

#include "app/shell/render_device.h"
#include "app/shell/ui.h"
#include "app/window/viewer.h"
#include "app/window/workspace.h"

namespace headlight::app {

/// The viewer without a window: its engine, the device that draws, and the workspace between them.
class OffscreenViewer {
 public:
  /// `wake` is called from the engine's thread when there is something new, also before this has returned. Throws Error in
  /// one line when there is no device.
  explicit OffscreenViewer(const ScreenshotOptions& options, std::function<void()> wake = {});

  shell::Ui& ui() { return ui_; }
  Workspace& workspace() { return workspace_; }

 private:
  WorkspaceOptions setup_;  // first: its engine computes while the device that draws is opened
  shell::RenderDevice device_;
  shell::Ui ui_;
  Workspace workspace_;
};

}  // namespace headlight::app
