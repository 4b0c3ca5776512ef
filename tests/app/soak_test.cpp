// The window under random input: nothing crashes, no message of the validation layer, no error but refusals in words, memory
// stays bounded, and all that was done can be undone to the beginning and done again. HEADLIGHT_SOAK_EVENTS,
// HEADLIGHT_SOAK_SECONDS (of the clock) or HEADLIGHT_SOAK_MINUTES (of simulated use, in which a frame is 50 ms and
// animations take their time) say how long it goes on, HEADLIGHT_SOAK_SEED gives other input, HEADLIGHT_SOAK_TRACE names a
// file that gets a line for each event; the figures it prints tell which part of the program holds how much.
#include <doctest/doctest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/commands/command_list.h"
#include "app/engine/gpu_runner.h"
#include "app/models/starter_view.h"
#include "app/random_input.h"
#include "app/shell/render_device.h"
#include "app/state/looks.h"
#include "app/state/state_json.h"
#include "app/ui_driver.h"
#include "app/window/workspace.h"
#include "core/error.h"
#include "core/json.h"
#include "core/utf8.h"
#include "gpu/context.h"
#include "imgui.h"
#include "support/temporary_directory.h"

namespace soak_test {

using namespace headlight;
using namespace headlight::app;
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMib = 1024.0 * 1024.0;
/// The time to wait before memory is measured: the engine gives back what it doesn't use after 3 s without work.
constexpr std::chrono::milliseconds kRest{4000};

struct Memory {
  double live_mib = 0.0;      ///< allocated by malloc and not freed
  double device_mib = 0.0;    ///< of that, where the device is the processor: blocks of its memory, 32 MiB each
  double atlas_mib = 0.0;     ///< of that: the glyphs, here and in the memory of a device that is the processor
  double resident_mib = 0.0;  ///< of the process, with drivers and mapped files
};

/// The bytes of the atlas' picture. It grows with the characters that the texts had so far, and with the screen's scale.
double atlas_bytes() {
  const ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
#if IMGUI_VERSION_NUM >= 19200
  return static_cast<double>(atlas.TexData->GetSizeInBytes());
#else
  return 4.0 * atlas.TexWidth * atlas.TexHeight;
#endif
}

/// Null without a device.
Memory measure_memory(const gpu::Context* context) {
  const struct mallinfo2 heap = mallinfo2();
  std::ifstream statm("/proc/self/statm");
  double pages = 0.0;
  double resident_pages = 0.0;
  statm >> pages >> resident_pages;
  return {.live_mib = static_cast<double>(heap.uordblks + heap.hblkhd) / kMib,
          .device_mib = context == nullptr ? 0.0 : static_cast<double>(context->reserved_bytes()) / kMib,
          .atlas_mib = 2.0 * atlas_bytes() / kMib,
          .resident_mib = resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / kMib};
}

/// A number of the environment.
double number_of(const char* variable, double otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtod(text, nullptr) : otherwise;
}

/// The duration of the test: so many events, or seconds, or minutes of simulated use where their number is given.
struct Length {
  double seconds = number_of("HEADLIGHT_SOAK_SECONDS", 0.0);
  double minutes = number_of("HEADLIGHT_SOAK_MINUTES", 0.0);
  double events = number_of("HEADLIGHT_SOAK_EVENTS", 1500.0);

  /// The part of it that is over.
  double part(Clock::time_point start, double now_s, std::size_t event_count) const {
    if (minutes > 0.0) return now_s / 60.0 / minutes;
    if (seconds > 0.0) return std::chrono::duration<double>(Clock::now() - start).count() / seconds;
    return static_cast<double>(event_count) / events;
  }
};

/// Is it an answer to the user: one line of words, and nothing that only the program's source explains?
bool is_in_words(const std::string& text) {
  static constexpr std::array<std::string_view, 12> kInner = {
      "std::", "basic_string", "vector::", "bad_",    "exception", "assert",
      "VK_",   "vk::",         "json.",    "nullptr", "map::at",   "stoi"};
  const auto is_said = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  return text == one_line(text) && std::ranges::none_of(kInner, is_said);
}

/// The state without its looks, of which undo and redo take back none.
State changes_of(State state) {
  take_looks(state, State());
  return state;
}

/// A window in a folder of its own, and all that happened to it.
class RandomUse {
 public:
  /// `models`: folders that it may open.
  RandomUse(shell::Ui& ui, Workspace& workspace, std::uint32_t seed, std::vector<std::string> models)
      : ui_(ui), workspace_(workspace), input_(seed, std::move(models)) {
    if (const char* path = std::getenv("HEADLIGHT_SOAK_TRACE")) trace_.open(path);
    settle();
  }

  void act() {
    const test::RandomAct act = input_.next(workspace_, ui_.scale());
    recent_.push_back(act.what);
    if (recent_.size() > kRecent) recent_.pop_front();
    if (trace_.is_open()) trace_ << events_ << " " << one_line(act.what) << std::endl;
    if (!act.model.empty()) workspace_.open_model(act.model);
    ui_.feed(act.events);
    draw();
    ui_.feed(test::keep_inside(workspace_));
    if (++events_ % kEventsBetweenRests == 0) settle();
  }

  /// Undoes everything that the history has: the first step's state is what it was, as JSON. Then does it again and
  /// compares, or goes on from the beginning.
  void undo_all(bool redoes) {
    constexpr int kMaxDialogs = 8;
    for (int i = 0; i < kMaxDialogs; ++i) press(shell::Key::Escape, {});
    const Undo& undo = workspace_.undo();
    const State last = workspace_.state();
    const std::size_t steps = undo.position(), first = undo.history().front().id;
    const State began = shown_.contains(first) ? shown_.at(first) : *undo.history().front().state;
    for (std::size_t left = steps; left > 0; --left) {
      const std::string label = undo.undo_label();
      press(shell::Key::Z, shell::kControl);
      INFO("undo of \"", label, "\", then \"", undo.undo_label(), "\" is the last step; ", workspace_.notice().text);
      REQUIRE(undo.position() == left - 1);
    }
    CHECK(to_text(to_json(changes_of(workspace_.state()))) == to_text(to_json(changes_of(began))));
    undone_ += steps;
    if (!redoes) return;
    for (std::size_t i = 0; i < steps; ++i) press(shell::Key::Y, shell::kControl);
    CHECK(undo.position() == steps);
    CHECK((changes_of(workspace_.state()) == changes_of(last)));
  }

  /// Measures the memory of the window as it began, all undone, in its first view and size, at rest: so much is kept,
  /// whatever was on screen last. A view of a set of prompts, or of a training, would go on measuring.
  Memory memory_at_beginning(const gpu::Context* context) {
    undo_all(false);
    input_.restore_size();
    press(shell::Key::Digit0, shell::kControl);
    press(shell::Key::P, shell::kControl);
    ui_.feed({shell::TextInput{find_command("pane.reset").label}});
    press(shell::Key::Enter, {});
    press(shell::Key::Escape, {});
    press(shell::Key::Digit1, {});
    REQUIRE(workspace_.state().view.tab == kHeadView);
    CHECK(workspace_.state().view.panes == ViewPane());
    std::this_thread::sleep_for(kRest);
    return measure_memory(context);
  }

  double now_s() const { return now_s_; }
  std::size_t events() const { return events_; }
  std::size_t undone() const { return undone_; }
  const std::set<std::string>& refusals() const { return refusals_; }
  std::string recent() const { return fmt::format("after {} events, the last: {}", events_, fmt::join(recent_, ", ")); }

 private:
  static constexpr std::size_t kRecent = 40, kEventsBetweenRests = 20;

  void draw() {
    workspace_.frame(input_.size(), input_.scale(), now_s_);
    now_s_ += 0.05;
    look();
  }

  /// Settles the window; of what keeps it moving the view and the size of the text are told.
  void settle() {
    try {
      now_s_ = workspace_.settle(input_.size(), input_.scale(), now_s_);
    } catch (const std::exception& error) {
      const State& state = workspace_.state();
      throw Error("{} (view {}, {} bytes of text)", error.what(), state.view.tab, state.text().size());
    }
    look();
  }

  void press(shell::Key key, shell::Modifiers modifiers) {
    ui_.feed(shell::tap(key, modifiers));
    now_s_ += 2.0;
    settle();
  }

  /// Checks the window's messages, and notes which state each step of its history shows.
  void look() {
    for (const std::string& said : {workspace_.notice().text, workspace_.result().error, workspace_.toast().text}) {
      if (said.empty()) continue;
      if (!is_in_words(said)) FAIL_CHECK("the window says: " << said << " (" << recent() << ")");
      const bool is_warning = said == workspace_.notice().text && workspace_.notice().is_warning;
      if (is_warning || said == workspace_.result().error) refusals_.insert(said);
    }
    shown_.insert_or_assign(workspace_.undo().shown_id(), workspace_.state());
    if (shown_.size() < kMaxShown) return;
    std::set<std::uint64_t> known;
    for (const HistoryStep& step : workspace_.undo().history()) known.insert(step.id);
    std::erase_if(shown_, [&](const auto& one) { return !known.contains(one.first); });
  }
  static constexpr std::size_t kMaxShown = 2000;  // four times what the history keeps

  shell::Ui& ui_;
  Workspace& workspace_;
  test::RandomInput input_;
  std::deque<std::string> recent_;
  std::map<std::uint64_t, State> shown_;  ///< by the step's id: what was last shown of it
  std::set<std::string> refusals_;
  std::ofstream trace_;
  double now_s_ = 0.0;
  std::size_t events_ = 0, undone_ = 0;
};

/// The program's surroundings without a file manager, a browser or a clipboard, and with a home of its own, until it is
/// gone.
class Seclusion {
 public:
  Seclusion() {
    fs::current_path(folder_.path());
    for (const char* name : {"PATH", "HOME"}) {
      const char* value = std::getenv(name);
      before_.emplace_back(name, value == nullptr ? "" : value);
      setenv(name, folder_.path().c_str(), 1);
    }
  }
  ~Seclusion() {
    fs::current_path(at_);
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }
  Seclusion(const Seclusion&) = delete;
  Seclusion& operator=(const Seclusion&) = delete;

 private:
  const TemporaryDirectory folder_;
  const fs::path at_ = fs::current_path();
  std::vector<std::pair<std::string, std::string>> before_;
};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("random input leaves the window whole and its memory bounded") {
    shell::RenderDevice device({.device = {}, .validation = true});
    shell::Ui ui(device);
    auto models = std::make_shared<ModelCache>();
    FirstState first = first_state(*models);
    const std::string captions = model_path(first.state.source), translator = chosen_model("", kTranslator).string();
    const Seclusion seclusion;
    EngineOptions engine;
    engine.models = models;
    // Which kernels the last minutes asked for is chance, and each has a megabyte of a processor's memory: none is kept.
    std::atomic<const gpu::Context*> context = nullptr;  // of the newest runner
    engine.open = [&](const std::string& name) {
      auto runner = std::make_unique<GpuRunner>(name, true, std::chrono::seconds(0));
      context = runner->device_name() == inference::kProcessorName ? nullptr : &runner->context();
      return runner;
    };
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
    RandomUse use(ui, workspace, static_cast<std::uint32_t>(number_of("HEADLIGHT_SOAK_SEED", 7.0)),
                  {captions, translator, kGoldenModels + "gpt2", kGoldenModels + "bert", kGoldenModels + "marian"});
    const Length length;
    const auto start = Clock::now();
    constexpr int kReports = 10;
    Memory half, last;
    for (int report = 1; report <= kReports; ++report) {
      try {
        while (length.part(start, use.now_s(), use.events()) < static_cast<double>(report) / kReports) use.act();
        if (report % 2 == 0) use.undo_all(report % 4 == 2);
        const bool is_compared = report == kReports / 2 || report == kReports;
        last = is_compared ? use.memory_at_beginning(context) : measure_memory(context);
      } catch (const std::exception& error) {
        FAIL(std::string(error.what()) << " " << use.recent());
      }
      if (report == kReports / 2) half = last;
      MESSAGE("" << use.now_s() / 60.0 << " minutes, " << use.events() << " events: " << last.live_mib
                 << " MiB live, device's blocks " << last.device_mib << " MiB, glyphs " << last.atlas_mib << " MiB, "
                 << last.resident_mib << " MiB resident, undo " << workspace.undo().step_count() << " steps of "
                 << static_cast<double>(workspace.undo().bytes()) / kMib << " MiB, device "
                 << static_cast<double>(workspace.result().timing.device_bytes) / kMib << " MiB, heatmaps "
                 << static_cast<double>(ui.heatmaps().cached_bytes()) / kMib << " MiB");
    }
    malloc_trim(0);  // what is resident beyond this is in use, the rest is room between what is
    MESSAGE("after malloc_trim: " << measure_memory(context).resident_mib << " MiB resident");
    MESSAGE(use.undone() << " steps undone; refused in words: " << fmt::format("{}", fmt::join(use.refusals(), " | ")));
    // Kept data (undo, tiles, textures) has bounds of its own, which short runs haven't reached yet.
    // A block of the device's memory stays as long as one buffer is in it.
    const auto others = [](const Memory& memory) { return memory.live_mib - memory.atlas_mib - memory.device_mib; };
    CHECK(others(last) < others(half) + 48.0);
    CHECK(last.device_mib <= half.device_mib + 64.0);  // two blocks
    CHECK(last.live_mib < 320.0);
    CHECK(last.resident_mib < half.resident_mib + 160.0);
    for (const std::string& message : device.validation_messages()) FAIL_CHECK(message);
  }
}

}  // namespace soak_test
