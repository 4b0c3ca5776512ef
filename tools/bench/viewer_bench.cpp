#include "tools/bench/viewer_bench.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <sstream>
#include <variant>

#include "app/engine/analyses/head_knockouts.h"
#include "app/views/view_table.h"
#include "app/window/offscreen_viewer.h"
#include "core/error.h"
#include "tools/bench/stopwatch.h"

namespace headlight::bench {
namespace {

using namespace app;  // NOLINT(google-build-using-namespace): the window that is measured

constexpr std::string_view kTyped = " A woman in a blue dress plays the guitar on a street.";
constexpr int kMaxFrames = 2'000;

/// How long this process has been running, to a hundredth of a second: field 22 of /proc/self/stat is its start in ticks
/// since the machine's.
double process_age_ms() {
  std::ifstream stat("/proc/self/stat");
  std::ifstream uptime("/proc/uptime");
  std::string line;
  std::getline(stat, line);
  std::istringstream fields(line.substr(line.rfind(')') + 2));
  std::string skipped;
  constexpr int kFieldsBetween = 19;
  for (int i = 0; i < kFieldsBetween; ++i) fields >> skipped;
  double start_ticks = 0.0;
  double uptime_s = 0.0;
  fields >> start_ticks;
  uptime >> uptime_s;
  return 1e3 * (uptime_s - start_ticks / static_cast<double>(sysconf(_SC_CLK_TCK)));
}

/// The engine's updates, from its thread to the loop.
class Updates {
 public:
  void tell() {
    {
      const std::lock_guard lock(mutex_);
      is_there_ = true;
    }
    changed_.notify_all();
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    is_there_ = false;
  }
  void wait(double most_s) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(most_s), [this] { return is_there_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_there_ = false;
};

/// The viewer's loop without its window: draws when there is something new.
class OffscreenLoop {
 public:
  OffscreenLoop(shell::Ui& ui, Workspace& workspace, glm::uvec2 size, Updates& updates)
      : ui_(ui), workspace_(workspace), size_(size), updates_(updates) {}

  /// Draws one frame and waits until it is drawn.
  void draw() {
    updates_.forget();
    workspace_.frame(size_, 1.0F, std::chrono::duration<double>(Clock::now().time_since_epoch()).count());
    ui_.wait_until_drawn();
  }

  void sleep() {
    const double wait_s = std::min(workspace_.redraw_after_s(), 1.0);
    if (wait_s > 0.0) updates_.wait(wait_s);
  }

  /// Until nothing more is computed or drawn.
  void rest() {
    for (int i = 0; i < kMaxFrames && !workspace_.is_settled(); ++i) {
      draw();
      if (!workspace_.is_settled()) sleep();
    }
  }

 private:
  shell::Ui& ui_;
  Workspace& workspace_;
  glm::uvec2 size_;
  Updates& updates_;
};

/// Puts the caret after the text.
void start_typing(shell::Ui& ui, Workspace& workspace, OffscreenLoop& loop) {
  const std::optional<chart::Rect> box = workspace.item_rect("text.edit");
  if (!box) throw Error("there is no text to type into; choose a model or the playground");
  ui.feed(shell::click_at(box->origin + 8.0F));
  ui.feed(shell::tap(shell::Key::End));
  for (int i = 0; i < kMaxFrames && ui.has_pending_input(); ++i) loop.draw();
}

KeystrokeCost type(shell::Ui& ui, Workspace& workspace, OffscreenLoop& loop, char character) {
  KeystrokeCost cost;
  const std::uint64_t drawn_before = ui.frames_drawn();
  const auto start = Clock::now();
  ui.feed(shell::TextInput{std::string(1, character)});
  for (int i = 0; i < kMaxFrames && cost.maps_ms == 0.0; ++i) {
    const auto frame = Clock::now();
    loop.draw();
    ++cost.frames;
    cost.frame_ms += milliseconds_since(frame);
    const double now_ms = milliseconds_since(start);
    if (i == 0) cost.typed_ms = now_ms;
    if (cost.map_ms == 0.0 && workspace.shows_selected_map()) cost.map_ms = now_ms;
    if (workspace.shows_all_maps()) cost.maps_ms = now_ms;
    if (cost.maps_ms == 0.0) loop.sleep();
  }
  cost.frame_ms /= cost.frames;
  cost.drawn = static_cast<std::uint32_t>(ui.frames_drawn() - drawn_before);
  cost.run_ms = workspace.result().timing.wall_ms;
  return cost;
}

/// Frames of one view in which the pointer moves along its diagonal.
ViewCost show(const View& view, shell::Ui& ui, Workspace& workspace, OffscreenLoop& loop) {
  constexpr int kFrames = 40;
  ui.feed(shell::tap(view.key.key, view.key.modifiers));
  loop.draw();
  loop.rest();
  const chart::Rect center = workspace.center();
  std::vector<double> costs;
  for (int i = 0; i < kFrames; ++i) {
    const float part = (static_cast<float>(i) + 0.5F) / kFrames;
    ui.feed({shell::MouseMove{(center.origin + part * center.size) * ui.scale()}});
    loop.draw();
    costs.push_back(workspace.build_cpu_ms());
  }
  std::ranges::nth_element(costs, costs.begin() + kFrames / 2);
  return {.id = std::string(view.id), .frame_ms = costs[kFrames / 2]};
}

std::uint32_t text_length(const Workspace& workspace) { return workspace.result().input->source.length; }

/// Types until the text has so many tokens, or the model takes no more: each time as many characters as tokens are missing,
/// which are at least as many as their tokens.
void lengthen(shell::Ui& ui, const Workspace& workspace, OffscreenLoop& loop, std::uint32_t tokens) {
  std::size_t at = 0;
  for (int i = 0; i < kMaxFrames && text_length(workspace) < tokens && workspace.result().error.empty(); ++i) {
    std::string text;
    for (std::uint32_t missing = tokens - text_length(workspace); missing > 0; --missing)
      text += kTyped[at++ % kTyped.size()];
    ui.feed(shell::TextInput{text});
    loop.draw();
    loop.rest();
  }
}

/// Milliseconds from these events until `is_there` in a frame of a newer run.
double time_until(shell::Ui& ui, Workspace& workspace, OffscreenLoop& loop, const std::vector<shell::InputEvent>& events,
                  const std::function<bool()>& is_there) {
  const std::uint64_t before = workspace.result().run;
  const auto start = Clock::now();
  ui.feed(events);
  for (int i = 0; i < kMaxFrames; ++i) {
    loop.draw();
    const EngineResult& result = workspace.result();
    if (!result.error.empty()) throw Error("{}", result.error);
    if (result.run > before && is_there()) return milliseconds_since(start);
    loop.sleep();
  }
  throw Error("the experiment never came to an end");
}

ExperimentCosts experiment(shell::Ui& ui, Workspace& workspace, OffscreenLoop& loop) {
  constexpr std::uint32_t kTokens = 64;
  constexpr int kRounds = 10;
  const auto press = [&](shell::Key key) {
    ui.feed(shell::tap(key));
    loop.draw();
    loop.rest();
  };
  lengthen(ui, workspace, loop, kTokens);
  press(shell::Key::Escape);  // leaves the text, so that keys are commands
  ExperimentCosts costs{.tokens = text_length(workspace), .paint_ms = {}, .knockouts_ms = {}};
  press(shell::Key::B);
  const std::optional<chart::Rect> map = workspace.item_rect("head.map");
  if (!map) throw Error("there is no map to paint on");
  for (int i = 0; i < kRounds; ++i) {
    // Below the diagonal, where a causal mask shows cells.
    const glm::vec2 part((static_cast<float>(i) + 0.5F) * 0.5F / kRounds, 0.6F + 0.03F * static_cast<float>(i));
    costs.paint_ms.push_back(time_until(ui, workspace, loop, shell::click_at((map->origin + part * map->size) * ui.scale()),
                                        [&] { return workspace.shows_all_maps(); }));
    loop.rest();
  }
  press(shell::Key::B);
  if (!workspace.result().has_logits) return costs;
  press(shell::Key::W);
  const auto found = [&]() -> const HeadKnockouts* {
    for (const auto& [query, answer] : workspace.result().analyses) {
      const bool is_new = query.as<KnockoutsQuestion>() && answer.is_done && answer.run == workspace.result().run;
      if (is_new) return answer.as<HeadKnockouts>();
    }
    return nullptr;
  };
  for (int i = 0; i < kRounds; ++i) {
    costs.knockouts_ms.push_back(
        time_until(ui, workspace, loop, shell::tap(shell::Key::C), [&] { return found() != nullptr; }));
    costs.heads = found()->all_heads;
    loop.rest();
  }
  ui.feed(shell::tap(views().front().key.key, views().front().key.modifiers));  // where longer texts knock out nothing
  loop.draw();
  return costs;
}

std::vector<ViewCost> show_views(shell::Ui& ui, Workspace& workspace, OffscreenLoop& loop) {
  constexpr std::uint32_t kTokens = 128;
  start_typing(ui, workspace, loop);
  lengthen(ui, workspace, loop, kTokens);
  ui.feed(shell::tap(shell::Key::Escape));  // leaves the text, so that keys are commands
  loop.draw();
  std::vector<ViewCost> costs;
  for (const View& view : views()) costs.push_back(show(view, ui, workspace, loop));
  return costs;
}

}  // namespace

ViewerBench bench_viewer(const app::ScreenshotOptions& options, std::uint32_t keystrokes) {
  Updates updates;
  OffscreenViewer viewer(options, [&] { updates.tell(); });
  shell::Ui& ui = viewer.ui();
  Workspace& workspace = viewer.workspace();
  OffscreenLoop loop(ui, workspace, {options.width, options.height}, updates);
  ViewerBench bench;
  for (int i = 0; i < kMaxFrames && bench.launch_maps_ms == 0.0; ++i) {
    loop.draw();
    if (bench.launch_ms == 0.0 && workspace.shows_selected_map()) bench.launch_ms = process_age_ms();
    if (workspace.shows_all_maps()) bench.launch_maps_ms = process_age_ms();
    if (bench.launch_maps_ms == 0.0) loop.sleep();
    if (!workspace.result().error.empty()) throw Error("{}", workspace.result().error);
  }
  // The first character comes at once: a user who starts typing doesn't wait.
  start_typing(ui, workspace, loop);
  for (std::uint32_t i = 0; i < keystrokes; ++i) {
    bench.keystrokes.push_back(type(ui, workspace, loop, kTyped[i % kTyped.size()]));
    loop.rest();
  }
  bench.experiments = experiment(ui, workspace, loop);
  bench.views = show_views(ui, workspace, loop);
  bench.tokens = workspace.result().input->source.length;
  return bench;
}

}  // namespace headlight::bench
