// The window under random input: nothing crashes, no message of the validation layer, memory stays bounded, and all that
// was done can be undone and done again. HEADLIGHT_SOAK_SECONDS (of the clock), HEADLIGHT_SOAK_MINUTES (of simulated use, in
// which a frame is 50 ms and animations take their time) or HEADLIGHT_SOAK_EVENTS make it longer, HEADLIGHT_SOAK_SEED gives
// other input; the figures it prints tell which part of the program holds how much.
#include <doctest/doctest.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>

#include "app/engine/gpu_runner.h"
#include "app/models/starter_view.h"
#include "app/shell/render_device.h"
#include "app/window/workspace.h"
#include "core/error.h"
#include "support/temporary_directory.h"

namespace soak_test {

using namespace headlight;
using namespace headlight::app;

namespace {

using Clock = std::chrono::steady_clock;

constexpr glm::uvec2 kSize{1600, 1000};
constexpr double kMib = 1024.0 * 1024.0;

struct Memory {
  double live_mib = 0.0;      ///< allocated by malloc and not freed
  double resident_mib = 0.0;  ///< of the process, with drivers and mapped files
};

Memory measure_memory() {
  const struct mallinfo2 heap = mallinfo2();
  std::ifstream statm("/proc/self/statm");
  double pages = 0.0;
  double resident_pages = 0.0;
  statm >> pages >> resident_pages;
  return {.live_mib = static_cast<double>(heap.uordblks + heap.hblkhd) / kMib,
          .resident_mib = resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / kMib};
}

/// A number of the environment.
double number_of(const char* variable, double otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtod(text, nullptr) : otherwise;
}

/// How long the test goes on: for so many seconds, or minutes of simulated use or events where their number is given.
struct Length {
  double seconds = number_of("HEADLIGHT_SOAK_SECONDS", 10.0);
  double minutes = number_of("HEADLIGHT_SOAK_MINUTES", 0.0);
  double events = number_of("HEADLIGHT_SOAK_EVENTS", 0.0);

  /// The part of it that is over.
  double part(Clock::time_point start, double now_s, std::size_t event_count) const {
    if (events > 0.0) return static_cast<double>(event_count) / events;
    if (minutes > 0.0) return now_s / 60.0 / minutes;
    return std::chrono::duration<double>(Clock::now() - start).count() / seconds;
  }
};

/// Random clicks, drags, wheel turns, texts and keys all over the window, but none that ends the program.
class RandomInput {
 public:
  explicit RandomInput(std::uint32_t seed) : random_(seed) {}

  std::vector<shell::InputEvent> next() {
    const auto x = static_cast<float>(below(kSize.x));
    const auto y = static_cast<float>(below(kSize.y));
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
        return {shell::MouseMove{{x, y}}};
      case 3:
      case 4:
      case 5:
        return shell::click_at({x, y});
      case 6:
        return shell::drag({x, y}, {static_cast<float>(below(kSize.x)), static_cast<float>(below(kSize.y))});
      case 7:
        return {shell::MouseMove{{x, y}}, shell::MouseWheel{.steps = {0.0F, below(2) == 0 ? 1.0F : -1.0F}}};
      case 8:
      case 9:
        return {shell::TextInput{std::string(kTyped[below(kTyped.size())])}};
      case 10:
        return shell::tap(shell::Key::Escape);
      default:
        return shell::tap(next_key(), kHeld[below(kHeld.size())]);
    }
  }

 private:
  std::uint32_t below(std::size_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  static constexpr std::array<std::string_view, 8> kTyped = {"a",  " dog", " runs", ".", " ü", "日本", "\xF0\x9F\x90\x95",
                                                             " 42"};
  /// Any key but Q and S: with Control they quit and write a screenshot.
  shell::Key next_key() {
    while (true) {
      const auto key = static_cast<shell::Key>(below(shell::kKeys));
      if (key != shell::Key::Q && key != shell::Key::S) return key;
    }
  }
  static constexpr std::array kHeld = {shell::Modifiers{}, shell::Modifiers{}, shell::Modifiers{},
                                       shell::Modifiers{}, shell::kControl,    shell::kControlShift};
  std::mt19937 random_;
};

/// Settles the window. The walk through a layer's steps may take longer than one call waits; of anything else that keeps the
/// window moving the view and the size of the text are told.
double settle(Workspace& workspace, double now_s) {
  try {
    return workspace.settle(kSize, 1.0F, now_s);
  } catch (const std::exception& error) {
    const State& state = workspace.state();
    constexpr double kWalk_s = 120.0;
    if (state.view.tab == "block" && state.block.speed < 0.5F) return workspace.settle(kSize, 1.0F, now_s + kWalk_s);
    throw Error("{} (view {}, {} bytes of text)", error.what(), state.view.tab, state.text().size());
  }
}

/// Undoes everything that the history has, does it again, and compares.
double undo_and_redo_all(shell::Ui& ui, Workspace& workspace, double now_s) {
  const auto press = [&](shell::Key key, shell::Modifiers modifiers) {
    ui.feed(shell::tap(key, modifiers));
    now_s = settle(workspace, now_s + 2.0);
  };
  constexpr int kMostDialogs = 8;
  for (int i = 0; i < kMostDialogs; ++i) press(shell::Key::Escape, {});
  const State last = workspace.state();
  const std::size_t steps = workspace.undo().position();
  for (std::size_t i = 0; i < steps; ++i) press(shell::Key::Z, shell::kControl);
  CHECK(workspace.undo().position() == 0);
  for (std::size_t i = 0; i < steps; ++i) press(shell::Key::Y, shell::kControl);
  CHECK(workspace.undo().position() == steps);
  CHECK((workspace.state() == last));
  return now_s;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("random input leaves the window whole and its memory bounded") {
    const TemporaryDirectory folder;  // where an export that random clicks start may write
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    const char* path = std::getenv("PATH");
    const std::string programs = path == nullptr ? "" : path;
    setenv("PATH", folder.path().c_str(), 1);  // no file manager, nothing that holds the clipboard
    shell::RenderDevice device({.device = {}, .validation = true});
    shell::Ui ui(device);
    auto models = std::make_shared<ModelCache>();
    FirstState first = first_state(*models);
    EngineOptions engine;
    engine.models = models;
    engine.tile_bytes = std::size_t{16} << 20;
    Settings settings;
    settings.state = first.state;
    Workspace workspace(
        ui, {.engine = engine,
             .started = {},
             .settings = settings,
             .model = std::move(first.model),
             .warning = {},
             .renderer = device.name(),
             .may_use_another_device = true,
             .find_models = [](const ModelSearch&, const std::atomic<bool>&) { return std::vector<ListedModel>(); }});
    RandomInput input(static_cast<std::uint32_t>(number_of("HEADLIGHT_SOAK_SEED", 7.0)));
    const Length length;
    const auto start = Clock::now();
    constexpr int kReports = 10;
    Memory half, last;
    double now_s = settle(workspace, 0.0);
    std::size_t events = 0;
    for (int report = 1; report <= kReports; ++report) {
      while (length.part(start, now_s, events) < static_cast<double>(report) / kReports) {
        ui.feed(input.next());
        workspace.frame(kSize, 1.0F, now_s);
        now_s += 0.05;
        if (++events % 20 == 0) now_s = settle(workspace, now_s);
      }
      if (report == kReports / 2 || report == kReports) now_s = undo_and_redo_all(ui, workspace, now_s);
      last = measure_memory();
      if (report == kReports / 2) half = last;
      MESSAGE("" << now_s / 60.0 << " minutes, " << events << " events: " << last.live_mib << " MiB live, "
                 << last.resident_mib << " MiB resident, undo " << workspace.undo().step_count() << " steps of "
                 << static_cast<double>(workspace.undo().bytes()) / kMib << " MiB, device "
                 << static_cast<double>(workspace.result().timing.device_bytes) / kMib << " MiB, heatmaps "
                 << static_cast<double>(ui.heatmaps().cached_bytes()) / kMib << " MiB");
    }
    // What is remembered (undo, tiles, textures, glyphs) has bounds of its own, which short runs haven't reached yet.
    CHECK(last.live_mib < half.live_mib + 48.0);
    CHECK(last.live_mib < 320.0);
    for (const std::string& message : device.validation_messages()) FAIL_CHECK(message);
    std::filesystem::current_path(before);
    setenv("PATH", programs.c_str(), 1);
  }
}

}  // namespace soak_test
