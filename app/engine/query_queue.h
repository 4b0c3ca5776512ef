#pragma once

#include <cstdint>

#include "app/engine/query.h"
#include "app/quantities/evaluation.h"
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

/// The runs of Reads::named.
struct FoundRuns {
  std::shared_ptr<const inference::Run> run = {}, baseline = {};
  std::shared_ptr<const AnalysisSubject> subject = {};
  bool refuses_copies = false;
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
  void answer_named(const QueryBudget& budget, const FindRuns& find, const ComputePasses& compute_passes);

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
  /// Of reads of passes, which are a batch of their own.
  void answer_passes(Waitings::iterator asking, const Reads& reads, const QueryBudget& budget, const ComputePasses& compute);
  /// Drops an answered one.
  void end_step(Waitings::iterator entry);

  Waitings waiting_;
  std::size_t done_ = 0;
};

/// Answers one question at once, on the caller's thread. `checkpoint`: called before each step; throws to cancel; may be
/// empty. Throws what the analysis and the runs throw.
std::shared_ptr<const AnalysisResult> answer_at_once(const AnalysisQuery& query, AnalysisSubject subject, const Runs& runs,
                                                     const std::function<void()>& checkpoint = {},
                                                     const ComputePasses& compute_passes = {});

}  // namespace headlight::app
