#pragma once

#include <cstdint>

#include "app/engine/query.h"
#include "app/engine/runner.h"
#include "app/shapes/quantities/evaluation.h"
#include "inference/intervention.h"
#include "inference/run.h"

namespace headlight::app {

/// A query while it is answered; it hands its result on itself.
using QueryTask = Task<void>;

/// What is read at once.
struct QueryBudget {
  std::size_t cells = 0;   ///< of tiles
  std::size_t states = 0;  ///< whose logits are read
};

/// Some of the passes that a step lists: the first ones, at least one. Of several each is an item of the run.
struct ChangedPasses {
  std::shared_ptr<const inference::Run> run;
  std::size_t count = 1;
  bool is_of_copies = false;  ///< each is an item of the run, even of one pass; else one pass is of all lines
};
/// Computes Reads::passes, `most` at most, of one line, each after the own interventions of the newest run or of the
/// baseline, or Reads::own_pass. May throw what Runner::run throws.
using ComputePasses = std::function<ChangedPasses(const Reads& reads, std::uint32_t line, std::size_t most)>;

/// The runs that passes with changes begin from.
struct PassBases {
  std::shared_ptr<const inference::Run> run = {};              ///< the newest
  std::shared_ptr<const inference::Run> baseline = {};         ///< by the run's token positions, perhaps an AlignedRun
  std::shared_ptr<const inference::Run> baseline_itself = {};  ///< by its own

  std::shared_ptr<const inference::Run> of(WhichRun which) const {
    return which == WhichRun::Newest ? run : which == WhichRun::Baseline ? baseline : baseline_itself;
  }
};

/// The runs of Reads::named, and what is known of them.
struct FoundRuns : PassBases {
  RunSource::Source source = {}, baseline_source = {};
  std::shared_ptr<const model::ModelInput> baseline_input = {};  ///< by the positions of `run`
  std::shared_ptr<const AnalysisSubject> subject = {};           ///< of `run`
  std::string device = {};
  bool refuses_copies = false;

  /// Takes the run that the others are compared with, or is compared with, and describes it.
  void take(std::shared_ptr<const inference::Run> found, const RunSource::Source& of, const RunInputs& inputs);
  /// Takes the run of a baseline, after take().
  void compare_with(const KnownRun& found, const RunInputs& inputs);
};
/// Finds or computes them, one pass a call: without `run` there is more to do. May throw what Runner::run throws.
using FindRuns = std::function<FoundRuns(const std::shared_ptr<const NamedRun>& named)>;

/// What is on screen with the selected head, what else is on screen, and what may wait until all of that is answered.
enum class QueryPriority : std::uint8_t { Selected, OnScreen, Background };

/// The queries that aren't answered yet, for one newest run and one baseline. All of them are answered together where they
/// fit into the budget, else those of the first priority, some at a time, so that a newer request waits for little.
class QueryQueue {
 public:
  /// Asks a query; a task of it that has begun goes on with the new priority. Queries of one priority are answered in the
  /// order of `position`.
  void ask(const Query& query, QueryPriority priority, std::size_t position, const std::function<QueryTask()>& make_task);
  void cancel(const std::function<bool(const Query&)>& is_unwanted);
  void clear() { waiting_.clear(); }

  bool is_empty() const { return waiting_.empty(); }
  /// Is any of these waiting?
  bool has(const std::function<bool(const Query&)>& is_meant) const;
  /// Answers the next ones. Throws what the runs throw, and then is empty. `compute_passes`: for steps that read of them.
  void answer_some(const Runs& runs, const QueryBudget& budget, const ComputePasses& compute_passes = {});

  /// Answers a step of the first one, of tasks that read of named runs alone. What they throw the task gets; a step that is
  /// cancelled, or loses the device, is thrown, and read again the next time: at the third loss the task gets that too.
  /// `is_wanted` is called after the read: a task that was let go meanwhile doesn't go on (ErrorKind::Cancelled).
  void answer_named(const QueryBudget& budget, const FindRuns& find, const ComputePasses& compute_passes,
                    const std::function<bool()>& is_wanted = {});

  /// Since the queue was last empty.
  Progress progress() const { return {.done = done_, .total = done_ + waiting_.size()}; }

 private:
  struct Waiting {
    QueryPriority priority = QueryPriority::OnScreen;
    std::size_t position = 0;
    QueryTask task;
    int losses = 0;  ///< of the device, in steps of this one
  };
  using Waitings = std::map<Query, Waiting>;
  /// One entry of a batch, and its part of the answers.
  struct Part {
    Waitings::iterator waiting;
    std::size_t tiles = 0, states = 0, residuals = 0, products = 0;
  };
  std::vector<Waitings::iterator> in_order();
  /// What the next ones read together, of one run.
  Reads next_reads(const QueryBudget& budget, std::vector<Part>& batch);
  static const inference::Run& asked(const Runs& runs, WhichRun of);
  void answer(const inference::Run& run, const std::vector<Part>& batch, const Reads& reads);
  /// Answers reads of passes, which are a batch of their own.
  void answer_passes(Waitings::iterator asking, const Reads& reads, const QueryBudget& budget, const ComputePasses& compute);
  /// Drops an answered one.
  void end_step(Waitings::iterator entry);

  Waitings waiting_;
  std::size_t done_ = 0;
};

/// The part of one task's passes that is read at once.
inline constexpr QueryBudget kTaskBudget{.cells = std::size_t{1} << 21, .states = 64};

template <typename Result>
QueryTask keep_answer(Task<Result> task, std::optional<Result>& found, std::exception_ptr& failure) {
  try {
    found = co_await std::move(task);
  } catch (...) {
    failure = std::current_exception();
  }
}

/// Returns a task's result at once, on the caller's thread: of these runs, whichever it names. Throws what the task throws,
/// and an Error where the device is lost. `compute_passes`: for steps that read of them. `checkpoint`: before each step;
/// throws to cancel.
template <typename Result>
Result answer_at_once(Task<Result> task, const FoundRuns& runs, const ComputePasses& compute_passes = {},
                      const std::function<void()>& checkpoint = {}) {
  std::optional<Result> found;
  std::exception_ptr failure;
  Task<Result> of_runs = std::move(task).of(std::make_shared<const NamedRun>());
  QueryQueue queue;
  queue.ask(TaskQuery(), QueryPriority::Background, 0, [&] { return keep_answer(std::move(of_runs), found, failure); });
  while (!queue.is_empty()) {
    if (checkpoint) checkpoint();
    queue.answer_named(
        kTaskBudget, [&](const auto& /*named*/) { return runs; }, compute_passes);
  }
  if (failure) std::rethrow_exception(failure);
  return std::move(*found);
}

}  // namespace headlight::app
