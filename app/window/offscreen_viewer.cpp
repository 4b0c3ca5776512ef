#include "app/window/offscreen_viewer.h"

#include "app/window/png_file.h"
#include "core/error.h"

namespace headlight::app {
namespace {

WorkspaceOptions set_up(const ScreenshotOptions& options, std::function<void()> wake) {
  WorkspaceOptions setup;
  setup.engine.device = options.device;
  setup.engine.models = options.models;
  setup.engine.wake = std::move(wake);
  setup.engine.watch_compiling = options.watch_compiling;
  setup.engine.tile_bytes = options.tile_bytes;
  setup.settings.state = options.state;
  setup.settings.shows_welcome = options.shows_welcome;
  setup.model = options.model;
  setup.warning = options.warning;
  setup.started = start_engine(setup.engine, setup.settings.state);
  return setup;
}

WorkspaceOptions drawn_by(WorkspaceOptions setup, const shell::RenderDevice& device) {
  setup.renderer = device.name();
  return setup;
}

}  // namespace

OffscreenViewer::OffscreenViewer(const ScreenshotOptions& options, std::function<void()> wake)
    : setup_(set_up(options, std::move(wake))),
      device_({.device = options.renderer}),
      ui_(device_),
      workspace_(ui_, drawn_by(std::move(setup_), device_)) {}

void take_screenshot(const ScreenshotOptions& options) {
  OffscreenViewer viewer(options);
  Workspace& workspace = viewer.workspace();
  if (options.survey) workspace.show_survey(*options.survey);
  if (!options.lesson.empty()) workspace.show_lesson(options.lesson, options.lesson_card);
  if (options.is_presentation) workspace.present();
  workspace.settle({options.width, options.height}, options.scale, 0.0);
  const EngineResult& result = workspace.result();
  if (result.run == 0 || result.is_stale) throw Error(result.error_kind, "{}", result.error);
  if (options.is_figure) return workspace.write_figure(options.out);
  write_png(options.out, viewer.ui().read_pixels());
}

}  // namespace headlight::app
