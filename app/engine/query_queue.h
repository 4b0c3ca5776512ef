#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/engine/query.h"
#include "app/quantities/evaluation.h"
#include "core/tensor.h"
#include "inference/intervention.h"
#include "inference/run.h"

namespace headlight::app {

/// What a query needs next of one run.
struct QueryStep {
  Evaluation::Of of = Evaluation::Of::Run;
  std::vector<attention::TileRequest> tiles = {};
  std::vector<inference::StateRef> states = {};  ///< whose logits are read
  bool reads_encoder_output = false;             ///< of the newest run
  std::vector<inference::ResidualRows> residuals = {};
  inference::Interventions changes = {};  ///< not empty: of another pass, which applies them too
  /// Not empty: tiles and logits of several passes, each of which applies one of these lists; of their first ones, as many
  /// as are computed. All are of one batch item.
  std::vector<inference::Interventions> passes = {};

  /// Can both be read of one run? Not of several passes.
  bool is_of_same_run(const QueryStep& other) const {
    return of == other.of && changes == other.changes && passes.empty() && other.passes.empty();
  }
};

/// The pass that applies `changes` behind the own interventions of the newest run, or of the reference. May throw what
/// Runner::run throws.
using ChangedRun =
    std::function<std::shared_ptr<const inference::Run>(Evaluation::Of of, const inference::Interventions& changes)>;

/// Some of the passes that a step lists: the first ones, at least one. Of several each is an item of the run.
struct ChangedPasses {
  std::shared_ptr<const inference::Run> run;
  std::size_t count = 1;
};
/// Computes them, `most` at most, of one line; as ChangedRun.
using ComputePasses = std::function<ChangedPasses(Evaluation::Of of, std::uint32_t line,
                                                  std::span<const inference::Interventions> passes, std::size_t most)>;

/// The answers to one step.
struct QueryAnswer {
  std::span<attention::Tile> tiles;  ///< [pass, tile] of several passes
  std::span<const float> logits;     ///< [state, vocabulary]; [pass, state, vocabulary] of several passes
  Tensor encoder_output = {};
  std::span<const Tensor> residuals = {};  ///< [row, d_model] each
  std::size_t passes = 1;                  ///< of QueryStep::passes, how many
};

/// A query while it is answered. A new kind of query is an alternative of Query and a class of this interface, which hands
/// its result on when it is done.
class QueryTask {
 public:
  /// An estimate of what is computed next.
  struct Cost {
    std::size_t cells = 0;   ///< of tiles
    std::size_t logits = 0;  ///< numbers of them; of one of several passes
  };

  virtual ~QueryTask() = default;
  virtual Cost cost() const = 0;
  /// Of about `most_cells` cells; the same again until take().
  virtual QueryStep next(std::size_t most_cells) = 0;
  virtual void take(const QueryAnswer& answer) = 0;
  /// Instead of take(): the changed pass that the step is read of couldn't be computed. Nothing more is asked then.
  virtual void fail(const std::string& /*why*/) {}
  virtual bool is_done() const = 0;
};

/// What is on screen with the selected head, what else is on screen, and what may wait until all of that is answered.
enum class QueryPriority : std::uint8_t { Selected, OnScreen, Background };

/// The queries that aren't answered yet, for one newest run and one reference. All of them are answered together where they
/// fit into the budget, else those of the first priority, some at a time, so that a newer request waits for little.
class QueryQueue {
 public:
  /// Asks a query; a task of it that has begun goes on with the new priority. Queries of one priority are answered in the
  /// order of `position`.
  void ask(const Query& query, QueryPriority priority, std::size_t position,
           const std::function<std::unique_ptr<QueryTask>()>& make_task);
  void cancel(const std::function<bool(const Query&)>& is_unwanted);
  void clear() { waiting_.clear(); }

  bool is_empty() const { return waiting_.empty(); }
  /// Is any of these waiting?
  bool has(const std::function<bool(const Query&)>& is_meant) const;
  /// Answers the next ones. Throws what the runs throw, and then is empty. `changed_run`: for steps that change something;
  /// `compute_passes`: for steps of several passes, else those are changed runs one by one.
  void answer_some(const Runs& runs, const QueryTask::Cost& budget, const ChangedRun& changed_run = {},
                   const ComputePasses& compute_passes = {});

  /// Since the queue was last empty.
  QueryProgress progress() const { return {.done = done_, .total = done_ + waiting_.size()}; }

 private:
  struct Waiting {
    QueryPriority priority = QueryPriority::OnScreen;
    std::size_t position = 0;
    std::unique_ptr<QueryTask> task;
  };
  using Waitings = std::map<Query, Waiting>;
  /// One entry of a batch, and its part of the answers.
  struct Part {
    Waitings::iterator waiting;
    std::size_t tiles = 0, states = 0, residuals = 0;
    bool reads_encoder_output = false;
  };
  std::vector<Waitings::iterator> in_order();
  void answer(const Runs& runs, std::vector<Part>& batch, const QueryStep& step, const ChangedRun& changed_run);
  /// Of a step of several passes, which is a batch of its own. `most`: passes.
  void answer_passes(std::vector<Part>& batch, QueryStep& step, std::size_t most, const ComputePasses& compute);
  void fail(std::vector<Part>& batch, const std::string& why);

  Waitings waiting_;
  std::size_t done_ = 0;
};

/// Tasks of the kinds of queries; `sink` gets the result.
std::unique_ptr<QueryTask> make_tile_task(std::unique_ptr<Evaluation> evaluation,
                                          std::function<void(attention::Tile tile)> sink);
/// `vocabulary`: numbers in a row of logits.
std::unique_ptr<QueryTask> make_prediction_task(const PredictionQuery& query, std::size_t vocabulary,
                                                std::function<void(std::span<const float> logits)> sink);
std::unique_ptr<QueryTask> make_memory_task(std::function<void(Tensor encoder_output)> sink);
/// `sink` gets each result on the way, and the last with `is_done`; of an analysis that throws Error its message.
/// `vocabulary`: numbers in a row of logits.
std::unique_ptr<QueryTask> make_analysis_task(const AnalysisQuery& query, const AnalysisSubject& subject,
                                              std::size_t vocabulary, std::function<void(Analysed answer)> sink);

}  // namespace headlight::app
