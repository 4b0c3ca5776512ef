#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "attention/stage.h"
#include "core/tensor.h"
#include "inference/intervention.h"
#include "inference/reuse.h"
#include "inference/run.h"

namespace headlight::app {

/// The run whose numbers are read: the newest run's, or the baseline's by the newest run's token positions, or by its own.
enum class WhichRun : std::uint8_t { Newest, Baseline, BaselineItself };

struct AnalysisSubject;
struct FoundRuns;
struct RunInputs;

/// A run that a task reads, whatever is on screen.
struct NamedRun {
  std::shared_ptr<const RunInputs> inputs;
  std::shared_ptr<const RunInputs> baseline = {};  ///< of as many tokens a line; null: there is none
  bool is_beside = false;  ///< with other weights than those on screen, which stay on the device; as its files are now
};

/// The numbers that a task reads next, of one run.
struct Reads {
  WhichRun of = WhichRun::Newest;
  /// Not null: of this run in place of the newest one, and of its baseline. It is found where it is on screen, else
  /// computed, and kept while steps that follow each other have the same pointer.
  std::shared_ptr<const NamedRun> named = {};
  std::vector<attention::TileRequest> tiles = {};
  std::vector<inference::StateRef> logits = {};  ///< whose logits are read, where the run has any
  std::vector<inference::ResidualRows> residuals = {};
  std::vector<inference::Product> products = {};  ///< not of Reads::passes
  /// Not empty: tiles and logits are read, of one batch item, no residuals, and of passes that each apply one of these lists
  /// of changes after the run's own interventions. They share with the run what the changes leave the same. As many of the
  /// first lists as the device computes together are answered, at least one, not always as many. Steps that follow each
  /// other with equal lists read of the same passes.
  std::vector<inference::Interventions> passes = {};
  /// Not null: tiles and logits are read, of a pass of these inputs on the weights that are on the device, and of nothing
  /// else of the run. Steps that follow each other with the same pointer read of one pass.
  std::shared_ptr<const inference::PassInputs> own_pass = {};

  /// Is called with the runs of `named` before the rest is read, for what nothing else here names; again where the device is
  /// lost meanwhile. Keeps no run, which would outlive its device. Throws what the task gets.
  std::function<void(const FoundRuns& runs)> visit = {};

  bool is_of_passes() const { return !passes.empty() || own_pass; }
  bool is_empty() const { return tiles.empty() && logits.empty() && residuals.empty() && products.empty(); }
};

/// The numbers that were read.
struct Answers {
  std::vector<attention::Tile> tiles = {};  ///< of Reads::passes [pass, tile]
  /// [state, vocabulary]; [pass, state, vocabulary] of Reads::passes. Only until the task reads again.
  std::span<const float> logits = {};
  std::vector<Tensor> residuals = {};  ///< [row, d_model] each
  std::vector<Tensor> products = {};   ///< [row, out] each
  std::size_t passes = 1;              ///< of Reads::passes, how many are answered
  /// The run of Reads::named, as it is known without the device, and whether changed passes of a line of it were refused.
  std::shared_ptr<const AnalysisSubject> subject = {};
  bool refuses_copies = false;
};

/// Reads nothing: a task that only computes lets others go on.
inline Reads read_nothing() { return {}; }

/// The part of a coroutine that its caller sees: the queue that answers the task, or the task that awaits it.
struct TaskState {
  std::coroutine_handle<> coroutine = {};
  Reads reads = {};
  Answers answers = {};
  std::exception_ptr refusal = {};             ///< instead of answers
  std::exception_ptr failure = {};             ///< that ended it
  std::shared_ptr<const NamedRun> named = {};  ///< Task::of()
  TaskState *parent = nullptr, *child = nullptr;

  /// Returns this task, or the awaited one that reads in its place.
  TaskState& innermost() {
    TaskState* state = this;
    while (state->child != nullptr) state = state->child;
    return *state;
  }
  /// Runs the task until its next reads, or its end.
  void go_on() {
    for (TaskState* state = &innermost();;) {
      state->coroutine.resume();
      if (state == this || !state->coroutine.done()) return;
      state = state->parent;
      state->child = nullptr;
    }
  }
};

template <typename Result>
struct TaskResult {
  std::shared_ptr<Result> result = {};

  void return_value(Result found) { result = std::make_shared<Result>(std::move(found)); }
  std::suspend_never yield_value(Result found) {
    return_value(std::move(found));
    return {};
  }
};
template <>
struct TaskResult<void> {
  void return_void() {}
};

/// A question while it is answered: a coroutine that reads of runs with `co_await reads`, awaits other tasks, reports what
/// it knows so far with `co_yield`, the whole answer with `co_return`. It begins when it is called and goes on in take();
/// one step computes for 20 ms at most, so that newer requests wait for little. Destroying it cancels it. Its parameters are
/// values: references would outlive what they name. The queue decides what is read together in one submission.
template <typename Result>
class [[nodiscard]] Task {
 public:
  struct promise_type : TaskState, TaskResult<Result> {  // NOLINT: the language looks for this name
    Task get_return_object() {
      coroutine = std::coroutine_handle<promise_type>::from_promise(*this);
      return Task(*this);
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void unhandled_exception() { failure = std::current_exception(); }

    auto await_transform(Reads next) {  // NOLINT: it is moved
      reads = std::move(next);
      return Read{*this};
    }
    template <typename Other>
    auto await_transform(Task<Other> task) {
      return Awaited<Other>{std::move(task), *this};
    }
  };

  Task() = default;
  Task(Task&& other) noexcept : promise_(std::exchange(other.promise_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(promise_, other.promise_);
    return *this;
  }
  ~Task() {
    if (promise_ != nullptr) promise_->coroutine.destroy();
  }

  /// Throws what the task threw; so the others aren't called then.
  bool is_done() const {
    if (promise_->failure) std::rethrow_exception(promise_->failure);
    return promise_->coroutine.done();
  }
  /// Makes this task and the tasks that it awaits read this run, where they name none.
  Task of(std::shared_ptr<const NamedRun> run) && {
    promise_->named = std::move(run);
    return std::move(*this);
  }
  /// Returns what the task reads next; the queue may move it away.
  Reads& reads() {
    TaskState& innermost = promise_->innermost();
    for (const TaskState* state = &innermost; state != nullptr && !innermost.reads.named; state = state->parent)
      innermost.reads.named = state->named;
    return innermost.reads;
  }
  void take(Answers answers) {  // NOLINT: they are moved
    promise_->innermost().answers = std::move(answers);
    promise_->go_on();
  }
  /// Called instead of take(): `co_await reads` throws `why`.
  void refuse(std::exception_ptr why) {  // NOLINT: it is moved
    promise_->innermost().refusal = std::move(why);
    promise_->go_on();
  }
  /// Returns the last reported answer, which no later step changes; null: none was reported yet.
  template <typename Told = Result>
  std::shared_ptr<const Told> result() const {
    return promise_->result;
  }
  /// Returns the whole answer of a task that is done; only once.
  template <typename Told = Result>
  Told answer() const {
    if constexpr (!std::is_void_v<Told>) return std::move(*promise_->result);
  }

 private:
  template <typename Other>
  friend class Task;

  struct Read {
    TaskState& state;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> /*self*/) const noexcept {}
    Answers await_resume() const {
      if (state.refusal) std::rethrow_exception(std::exchange(state.refusal, nullptr));
      return std::move(state.answers);
    }
  };
  template <typename Other>
  struct Awaited {
    Task<Other> task;
    TaskState& parent;

    bool await_ready() const noexcept { return task.promise_->coroutine.done(); }
    void await_suspend(std::coroutine_handle<> /*self*/) const noexcept {
      parent.child = task.promise_;
      task.promise_->parent = &parent;
    }
    Other await_resume() const {
      (void)task.is_done();
      return task.answer();
    }
  };

  explicit Task(promise_type& promise) : promise_(&promise) {}

  promise_type* promise_ = nullptr;
};

}  // namespace headlight::app
