#include "app/window/viewer.h"

#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <limits>

#include "app/link/link_server.h"
#include "app/shell/message_window.h"
#include "app/shell/render_device.h"
#include "app/shell/window.h"
#include "app/state/version.h"
#include "app/window/workspace.h"
#include "core/error.h"
#include "platform/crash_report.h"
#include "platform/signals.h"

namespace headlight::app {
namespace {

double steady_now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

shell::WindowPlacement to_shell(const WindowPlacement& placement) {
  return {.position = placement.position, .size = placement.size, .maximized = placement.is_maximized};
}

WindowPlacement from_shell(const shell::WindowPlacement& placement) {
  return {.size = placement.size, .position = placement.position, .is_maximized = placement.maximized};
}

/// Draws when there is something new and sleeps otherwise.
class ViewerLoop {
 public:
  /// `recovery`: null where nothing is kept.
  ViewerLoop(shell::RenderDevice& device, shell::Ui& ui, shell::Window& window, Workspace& workspace, SettingsKeeper& keeper,
             Recovery* recovery, const platform::EndSignals& signals)
      : device_(device),
        ui_(ui),
        window_(window),
        workspace_(workspace),
        keeper_(keeper),
        recovery_(recovery),
        signals_(signals) {}

  void run() {
    double next_frame_s = 0.0;
    double next_keeping_s = std::numeric_limits<double>::infinity();
    while (!window_.should_close() && !workspace_.wants_to_quit() && !signals_.is_asked()) {
      const double wait_until_s = std::min(window_.is_visible() ? next_frame_s : kNever, next_keeping_s);
      window_.wait_events(std::max(wait_until_s - steady_now_s(), 0.0));
      const double now_s = steady_now_s();
      const bool is_asked = window_.is_visible() && window_.take_redraw();
      if (is_asked || (window_.is_visible() && now_s >= next_frame_s)) {
        draw(is_asked, now_s);
        next_frame_s = now_s + workspace_.redraw_after_s();
      }
      next_keeping_s = now_s + keeper_.keep(settings(), now_s);
      if (recovery_) next_keeping_s = std::min(next_keeping_s, now_s + recovery_->keep(workspace_.open_window(), now_s));
    }
  }

  Settings settings() {
    Settings settings = workspace_.settings();
    settings.window = from_shell(window_.placement());
    return settings;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  void draw(bool is_asked, double now_s) {
    try {
      device_.check_sleep();
      const std::uint64_t drawn_before = ui_.frames_drawn();
      workspace_.frame(window_.framebuffer_size(), window_.content_scale(), now_s);
      note_screen();
      if (is_asked || ui_.frames_drawn() != drawn_before) window_.present();
      if (std::string title = workspace_.title(); title != title_) window_.set_title(title_ = std::move(title));
      failures_ = 0;
    } catch (const Error& error) {
      const bool may_pass = error.kind() == ErrorKind::DeviceLost || error.kind() == ErrorKind::OutOfDeviceMemory;
      if (!may_pass || ++failures_ > kMaxFailures) throw;
      reopen_device(error.what());
    }
  }

  /// What a crash report says.
  void note_screen() const {
    const State& state = workspace_.state();
    const Source& source = state.source;
    platform::note_for_crash(fmt::format("headlight {}\nview: {}\nshows: {}{}{}\ncomputes on: {}\ndraws on: {}\nstate: {}\n",
                                         program_version(), state.view.tab, model_path(source), capture_path(source),
                                         notebook_name(source), workspace_.result().device, device_.name(),
                                         recovery_ ? utf8(recovery_folder()) : "not kept"));
  }

  /// Everything that draws is made anew; what the user did and what is computed stays. Throws Error when that fails again
  /// and again.
  void reopen_device(const std::string& loss) {
    while (true) {
      try {
        window_.release_device();
        ui_.release_device();
        device_.reopen();
        ui_.use_device();
        window_.use_device();
        return workspace_.tell_of_reopening(loss);
      } catch (const Error&) {
        if (++failures_ > kMaxFailures) throw;
        std::this_thread::sleep_for(kPause);
      }
    }
  }

  static constexpr int kMaxFailures = 3;                   // without a frame between them
  static constexpr std::chrono::milliseconds kPause{300};  // a driver that resets its device needs a moment

  shell::RenderDevice& device_;
  shell::Ui& ui_;
  shell::Window& window_;
  Workspace& workspace_;
  SettingsKeeper& keeper_;
  Recovery* recovery_;
  const platform::EndSignals& signals_;
  int failures_ = 0;
  std::string title_;
};

/// Null without a folder, or where it can't be written to: saving the settings reports that.
std::unique_ptr<Recovery> open_recovery(const ViewOptions& options, const Workspace& workspace) {
  if (options.recovery_folder.empty()) return nullptr;
  try {
    return std::make_unique<Recovery>(options.recovery_folder, workspace.open_window());
  } catch (const Error&) {
    return nullptr;
  }
}

/// Null where the window is to have none, or where there can be none, which is said.
std::unique_ptr<LinkServer> open_link(const ViewOptions& options) {
  if (!options.is_linkable) return nullptr;
  try {
    return std::make_unique<LinkServer>(LinkOptions{.folder = link_folder(), .wake = &shell::Window::wake});
  } catch (const Error& error) {
    fmt::print(stderr, "headlight: programs can't send attention to this window: {}\n", error.what());
    return nullptr;
  }
}

/// Until the window is closed or a signal ends it.
int show_window(const ViewOptions& options, const platform::EndSignals& signals) {
  Settings settings = options.settings;
  if (!options.device.empty()) settings.device = options.device;
  EngineOptions engine;
  engine.device = settings.device;
  engine.wake = &shell::Window::wake;
  engine.models = options.models;
  engine.tile_bytes = options.tile_bytes;
  std::unique_ptr<Engine> started = start_engine(engine, settings.state);
  shell::RenderDevice device({.device = options.renderer, .shows_windows = true});
  shell::Ui ui(device);
  Result<std::unique_ptr<shell::Window>> opened =
      shell::Window::open(device, ui, "Headlight", to_shell(options.settings.window));
  if (!opened) throw Error("{}", opened.error());
  const std::unique_ptr<shell::Window> window = std::move(opened).value();

  Workspace workspace(ui, {.engine = engine,
                           .started = std::move(started),
                           .settings = settings,
                           .model = options.model,
                           .warning = options.warning,
                           .renderer = device.name(),
                           .may_use_another_device = options.device.empty(),
                           .focuses_text = options.is_first_start,
                           .session = options.session});
  if (options.survey) workspace.show_survey(*options.survey);
  if (!options.steps.empty()) workspace.open_steps(options.steps);
  workspace.on_notes([](const std::string& notes) {
    fmt::print("{}\n", notes);
    std::fflush(stdout);
  });
  if (!options.lesson.empty()) workspace.show_lesson(options.lesson, options.lesson_card);
  const std::unique_ptr<LinkServer> link = open_link(options);
  if (link) workspace.follow([&link] { return link->snapshot(); });
  window->on_drop([&](const std::vector<std::string>& paths) { workspace.open_files(paths); });

  SettingsKeeper keeper(options.settings_file, options.settings);
  const std::unique_ptr<Recovery> recovery = open_recovery(options, workspace);
  ViewerLoop loop(device, ui, *window, workspace, keeper, recovery.get(), signals);
  try {
    loop.run();
  } catch (...) {
    static_cast<void>(keeper.save(loop.settings()));  // the error that ends the program is the one to report
    throw;
  }
  if (recovery && !signals.is_asked()) recovery->discard();  // who was ended by a signal goes on where it was
  int status = 0;
  if (const std::optional<std::string> trouble = keeper.save(loop.settings())) {
    fmt::print(stderr, "headlight: the settings are not saved: {}\n", *trouble);
    status = 1;
  }
  for (const std::string& message : device.validation_messages()) {
    fmt::print(stderr, "validation: {}\n", message);
    status = 1;
  }
  return status;
}

}  // namespace

int run_viewer(const ViewOptions& options) {
  std::error_code failure;
  const platform::EndSignals signals(&shell::Window::wake, failure);
  if (failure) throw Error("no event for signals: {}", failure.message());
  int status = 0;
  try {
    status = show_window(options, signals);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::NoDevice) throw;
    std::string text = error.what();
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    shell::show_message({.title = "Headlight draws with Vulkan, and finds none here",
                         .text = text + ".",
                         .theme = theme_kind(options.settings.state.view.theme)},
                        [&signals] { return signals.is_asked(); });
    throw;
  }
  signals.pass_on();  // now that nothing of the window is left
  return status;
}

}  // namespace headlight::app
