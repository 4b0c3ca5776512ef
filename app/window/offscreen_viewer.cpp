#include "app/window/offscreen_viewer.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>
#include <stb_image_write.h>

#include "app/state/usage.h"
#include "core/error.h"
#include "core/file.h"
#include "core/notes.h"
#include "inference/weight_findings.h"

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

float scale_of(const ScreenshotOptions& options) { return window_scale({options.width, options.height}, options.scale); }

/// Shows what the options open beside the state. Returns the clock when all is drawn.
double show(OffscreenViewer& viewer, const ScreenshotOptions& options) {
  viewer.ui().draw_when_read();
  Workspace& workspace = viewer.workspace();
  if (options.survey) workspace.show_survey(*options.survey);
  if (!options.steps.empty()) workspace.open_steps(options.steps);
  if (!options.lesson.empty()) workspace.show_lesson(options.lesson, options.lesson_card);
  if (options.is_presentation) workspace.present();
  const double now_s = workspace.settle({options.width, options.height}, scale_of(options), 0.0);
  const EngineResult& result = workspace.result();
  if (result.run == 0 || result.is_stale) throw Error(result.error_kind, "{}", result.error);
  if (!options.steps.empty() && workspace.notice().is_warning)
    throw Error(ErrorKind::InvalidInput, "{}", workspace.notice().text);
  std::set<std::uint32_t> layers;  // a capture may have some of a model's alone
  for (const model::BlockRef block : result.blocks) layers.insert(block.layer.value);
  const std::uint32_t chosen = options.state.selection.block.layer.value;
  if (is_capture(options.state.source) && chosen > 0 && !layers.contains(chosen))
    throw UsageError("--layer {}: the layers with attention are {}", chosen, fmt::join(layers, ", "));
  if (workspace.notice().is_shown()) add_note(workspace.notice().text);
  if (result.capture && !result.capture->note().empty()) add_note(result.capture->note());
  const std::string& tab = workspace.state().view.tab;
  if (tab == "checkpoints") inference::note_run_warning(workspace.checkpoints().failure());
  const auto found = tab == "prompts" ? workspace.prompts().findings() : nullptr;
  if (!found) return now_s;
  if (!found->problem().empty()) throw Error(ErrorKind::InvalidInput, "{}", found->problem());
  inference::note_run_warning(found->failure());
  const auto out = std::ranges::find_if(found->left_out, [](const std::string& why) { return !why.empty(); });
  if (out != found->left_out.end())
    add_note(fmt::format("{} of {} prompts are left out: {}", found->prompts() - found->included(), found->prompts(), *out));
  return now_s;
}

}  // namespace

OffscreenViewer::OffscreenViewer(const ScreenshotOptions& options, std::function<void()> wake)
    : setup_(set_up(options, std::move(wake))),
      device_({.device = options.renderer}),
      ui_(device_),
      workspace_(ui_, drawn_by(std::move(setup_), device_)) {}

std::string describe_view(const ScreenshotOptions& options) {
  OffscreenViewer viewer(options);
  show(viewer, options);
  return viewer.workspace().describe();
}

void take_screenshot(const ScreenshotOptions& options) {
  OffscreenViewer viewer(options);
  const double now_s = show(viewer, options);
  Workspace& workspace = viewer.workspace();
  if (options.out.extension() == ".csv")
    return write_file_atomically(options.out, workspace.csv({options.width, options.height}, scale_of(options), now_s));
  if (options.is_figure) {
    std::ranges::for_each(workspace.write_figure(options.out, options.look), add_note);
    return;
  }
  write_png(options.out, viewer.ui().read_pixels());
}

void write_png(const std::filesystem::path& path, const shell::PixelImage& image) {
  std::string bytes;
  const auto append = [](void* context, void* data, int size) {
    static_cast<std::string*>(context)->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
  };
  const int width = static_cast<int>(image.size.x);
  const int height = static_cast<int>(image.size.y);
  constexpr int kChannels = 4;
  if (stbi_write_png_to_func(append, &bytes, width, height, kChannels, image.rgba.data(), width * kChannels) == 0) {
    throw Error("{}: an image of {} x {} pixels can't be encoded", utf8(path), width, height);
  }
  if (path.has_parent_path()) make_directories(path.parent_path());
  write_file_atomically(path, bytes);
}

shell::PixelImage cropped(const shell::PixelImage& image, const chart::Rect& rect, float scale) {
  const auto pixel = [&](glm::vec2 position) {
    return glm::uvec2(glm::clamp(glm::round(position * scale), glm::vec2(0.0F), glm::vec2(image.size)));
  };
  const glm::uvec2 low = pixel(rect.origin), high = pixel(rect.end());
  shell::PixelImage part{.size = high - low, .rgba = {}};
  part.rgba.reserve(std::size_t{part.size.x} * part.size.y * 4);
  for (std::uint32_t y = low.y; y < high.y; ++y) {
    const std::span row = std::span(image.rgba).subspan(std::size_t{y} * image.size.x * 4);
    const std::span inside = row.subspan(std::size_t{low.x} * 4, std::size_t{part.size.x} * 4);
    part.rgba.insert(part.rgba.end(), inside.begin(), inside.end());
  }
  return part;
}

}  // namespace headlight::app
