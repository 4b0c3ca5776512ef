#include "app/window/viewer.h"

#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "app/data/link/link_server.h"
#include "app/shell/message_window.h"
#include "app/shell/render_device.h"
#include "app/shell/window.h"
#include "app/state/version.h"
#include "app/window/workspace.h"
#include "core/error.h"
#include "platform/display.h"
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

std::atomic<KeptWindow*> window_on_display = nullptr;  ///< null: none, or nothing is kept

std::string end_kept(WindowEnd how, const std::string& words) {
  KeptWindow* const kept = window_on_display;
  return kept == nullptr ? std::string() : kept->end(how, words);
}

/// Called when the display has gone, and with it the window: nothing may be asked of either, or of the device that draws.
[[noreturn]] void end_without_display() {
  const std::string trouble = end_kept(WindowEnd::Asked, "its display went");
  fmt::print(stderr, "headlight: the display has gone{}{}\n", trouble.empty() ? "" : "; ", trouble);
  std::fflush(nullptr);
  std::_Exit(1);
}

/// Draws when there is something new and sleeps otherwise.
class ViewerLoop {
 public:
  /// `kept`: null where nothing is kept.
  ViewerLoop(shell::RenderDevice& device, shell::Ui& ui, shell::Window& window, Workspace& workspace, KeptWindow* kept,
             const platform::EndSignals& signals)
      : device_(device), ui_(ui), window_(window), workspace_(workspace), kept_(kept), signals_(signals) {}

  void run() {
    try {
      run_frames();
    } catch (...) {
      note();
      throw;
    }
    note();
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  void run_frames() {
    double next_keeping_s = kNever;
    while (!workspace_.wants_to_quit() && !signals_.is_asked()) {
      const double wait_until_s = std::min(window_.is_visible() ? next_frame_s_ : kNever, next_keeping_s);
      window_.wait_events(std::max(wait_until_s - steady_now_s(), 0.0));
      if (window_.should_close()) close();
      const double now_s = steady_now_s();
      const bool is_asked = window_.is_visible() && window_.take_redraw();
      if (is_asked || (window_.is_visible() && now_s >= next_frame_s_)) {
        draw(is_asked, now_s);
        next_frame_s_ = now_s + workspace_.redraw_after_s();
      }
      next_keeping_s = now_s + keep(now_s);
    }
  }

  /// Handles the window's close button.
  void close() {
    if (platform::is_compositor_gone()) end_without_display();
    window_.set_should_close(false);
    workspace_.ask_to_quit();
    if (!workspace_.wants_to_quit()) window_.raise();  // to be asked
  }

  Kept shown() {
    Kept kept{.window = workspace_.open_window(), .settings = workspace_.settings()};
    kept.settings.window = from_shell(window_.placement());
    return kept;
  }

  void note() {
    if (kept_) kept_->see(shown());
  }

  /// Returns the seconds until it must be called again.
  double keep(double now_s) {
    if (!kept_) return kNever;
    const double wait_s = kept_->keep(shown(), now_s);
    if (ui_.frames_drawn() > 0 && workspace_.is_settled()) kept_->prove();
    if (const std::string trouble = kept_->take_trouble(); !trouble.empty()) {
      workspace_.warn(trouble);
      next_frame_s_ = now_s;
    }
    return wait_s;
  }

  void draw(bool is_asked, double now_s) {
    try {
      device_.check_sleep();
      const std::uint64_t drawn_before = ui_.frames_drawn();
      const glm::uvec2 size = window_.framebuffer_size();
      workspace_.frame(size, window_scale(size, window_.content_scale()), now_s);
      note_screen();
      if (is_asked || ui_.frames_drawn() != drawn_before) window_.present();
      if (std::string title = workspace_.title(); title != title_) window_.set_title(title_ = std::move(title));
      failures_ = 0;
    } catch (const std::exception& error) {
      if (++failures_ > kMaxFailures) throw;
      const ErrorKind kind = headlight::kind_of(error);
      const bool may_pass = kind == ErrorKind::DeviceLost || kind == ErrorKind::OutOfDeviceMemory;
      may_pass ? reopen_device(error.what()) : workspace_.warn(one_line(error.what()));
    }
  }

  /// Notes the text of a crash report.
  void note_screen() const {
    const State& state = workspace_.state();
    const Source& source = state.source;
    platform::note_for_crash(fmt::format("headlight {}\nview: {}\nshows: {}{}{}\ncomputes on: {}\ndraws on: {}\nstate: {}\n",
                                         program_version(), state.view.tab, model_path(source), capture_path(source),
                                         notebook_name(source), workspace_.result().device, device_.name(),
                                         kept_ ? utf8(kept_->folder()) : "not kept"));
  }

  /// Makes everything that draws anew; what the user did and what is computed stays. Throws Error when that fails again
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
  KeptWindow* kept_;
  const platform::EndSignals& signals_;
  double next_frame_s_ = 0.0;
  int failures_ = 0;
  std::string title_;
};

/// Opens the link; null where the window is to have none, or where there can be none, which is reported.
std::unique_ptr<LinkServer> open_link(const ViewOptions& options) {
  if (!options.is_linkable) return nullptr;
  try {
    return std::make_unique<LinkServer>(LinkOptions{.folder = link_folder(), .wake = &shell::Window::wake});
  } catch (const Error& error) {
    fmt::print(stderr, "headlight: programs can't send attention to this window: {}\n", error.what());
    return nullptr;
  }
}

/// Runs the window until it is closed or a signal ends it. Returns the exit status.
int run_window(const ViewOptions& options, const platform::EndSignals& signals) {
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
                           .session = options.session,
                           .kept = options.kept.get()});
  if (options.survey) workspace.show_survey(*options.survey);
  if (!options.steps.empty()) workspace.open_steps(options.steps);
  workspace.on_notes([](const std::string& notes) {
    fmt::print("{}\n", notes);
    std::fflush(stdout);
  });
  if (!options.results.empty()) workspace.record_answers(options.results);
  if (!options.lesson.empty()) workspace.show_lesson(options.lesson, options.lesson_card);
  const std::unique_ptr<LinkServer> link = open_link(options);
  if (link) workspace.follow([&link] { return link->snapshot(); });
  window->on_drop([&](const std::vector<std::string>& paths) { workspace.open_files(paths); });

  ViewerLoop(device, ui, *window, workspace, options.kept.get(), signals).run();
  int status = 0;
  const std::string trouble =
      signals.is_asked() ? end_kept(WindowEnd::Asked, "a signal ended it") : end_kept(WindowEnd::Closed, "");
  if (!trouble.empty()) {
    fmt::print(stderr, "headlight: {}\n", trouble);
    status = 1;
  }
  for (const std::string& message : device.validation_messages()) {
    fmt::print(stderr, "validation: {}\n", message);
    status = 1;
  }
  return status;
}

/// Runs the window; whatever ends it, its state is kept, or removed where the user closed the window.
int show_window(const ViewOptions& options, const platform::EndSignals& signals) {
  if (options.kept) {
    OpenWindow window{.state = options.settings.state, .session = {}};
    if (options.session) window.session = options.session->path;
    options.kept->begin({.window = std::move(window), .settings = options.settings});
  }
  window_on_display = options.kept.get();
  platform::when_display_goes(&end_without_display);
  try {
    const int status = run_window(options, signals);
    window_on_display = nullptr;
    return status;
  } catch (const std::exception& error) {
    static_cast<void>(end_kept(WindowEnd::Failed, one_line(error.what())));  // the error is the one to report
    window_on_display = nullptr;
    throw;
  }
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
