#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/state/state.h"
#include "attention/stage.h"
#include "core/tensor.h"
#include "inference/intervention.h"
#include "inference/run.h"
#include "model/network.h"

namespace headlight::app {

struct Analysis;

/// The self-attention of a model with one stack, at this layer.
inline model::BlockRef encoder_block(std::uint32_t layer) {
  return {.kind = model::BlockKind::EncoderSelf, .layer = LayerIndex{layer}};
}

/// Asks for what an analysis finds in a run. An analysis says which members it heeds; the others are 0, so that equal
/// questions are equal values.
struct AnalysisQuery {
  const Analysis* analysis = nullptr;
  model::BlockRef block = {};
  std::uint32_t batch = 0;
  std::uint32_t head = 0, query = 0, key = 0;
  std::array<std::uint32_t, 2> tokens = {};   ///< ids of the vocabulary
  std::array<std::uint32_t, 4> options = {};  ///< with a meaning of the analysis' own
  std::string formula = {};                   ///< a mask's expression that the user typed
  /// The same question about the run that is compared with; of analyses that don't compare.
  bool is_of_reference = false;

  auto operator<=>(const AnalysisQuery&) const = default;
};

/// What an analysis found; each has a type of its own.
struct AnalysisResult {
  AnalysisResult() = default;
  virtual ~AnalysisResult() = default;

 protected:
  AnalysisResult(const AnalysisResult&) = default;
  AnalysisResult& operator=(const AnalysisResult&) = default;
};

/// The run that is analysed, without what only the device has.
struct AnalysisSubject {
  std::shared_ptr<const model::Network> network;
  std::shared_ptr<const model::ModelInput> input;
  std::shared_ptr<const RunInputs> inputs;
  BlockShapes shapes;
  bool has_logits = false;
  /// Of analyses that compare: every token of the run that is compared with has a counterpart in this one.
  bool covers_reference = true;
};

/// An analysis while it is computed, on the engine's thread. It reads from the run what it needs, some at a time, and
/// between two of its steps newer requests win. So one take() computes for 20 ms at most.
class AnalysisTask {
 public:
  /// What is read next of a run.
  struct Reads {
    std::vector<attention::TileRequest> tiles = {};
    std::vector<inference::StateRef> logits = {};  ///< whose logits are read, where the run has any
    std::vector<inference::ResidualRows> residuals = {};
    /// Not empty: all of it is read of another pass, which applies these behind the run's own interventions. It shares with
    /// the run what they leave the same. Steps that follow each other with equal changes read of one pass.
    inference::Interventions changes = {};
    /// Not empty, where `changes` are: tiles and logits are read, of one batch item, no residuals, and of several passes,
    /// each with one of these lists of changes. As many of the first lists as the device computes together are answered, at
    /// least one, not always as many. Steps that follow each other with equal lists read of the same passes.
    std::vector<inference::Interventions> passes = {};
    /// Of the run that is compared with, changed where there are changes; only where Analysis::compares.
    bool is_of_reference = false;
  };
  struct Answers {
    std::span<attention::Tile> tiles;   ///< of Reads::passes [pass, tile]
    std::span<const float> logits;      ///< [state, vocabulary]; [pass, state, vocabulary] of Reads::passes
    std::span<const Tensor> residuals;  ///< [row, d_model] each
    std::size_t passes = 1;             ///< of Reads::passes, how many are answered
  };

  virtual ~AnalysisTask() = default;
  /// Of about `most_cells` cells of tiles; nothing in a step that only computes. The same until take(). Not once it is done.
  virtual Reads next(std::size_t most_cells) = 0;
  /// Throws Error where what was read can't be analysed; its message is shown in place of a result.
  virtual void take(const Answers& answers) = 0;
  virtual bool is_done() const = 0;
  /// What is known so far, a value that no later step changes; null: nothing yet.
  virtual std::shared_ptr<const AnalysisResult> result() const = 0;
};

/// A finding about a whole run or a head that is more than a matrix of numbers: a line of analyses().
struct Analysis {
  std::string_view id;     ///< lower-case words: "residual-sizes"
  std::string_view title;  ///< "sizes of the residual stream"
  /// Throws Error in one line where the network can't be analysed, or the query names nothing in it.
  std::unique_ptr<AnalysisTask> (*begin)(const AnalysisQuery& query, const AnalysisSubject& subject);
  /// Does it read the run that is compared with? Then it is asked only where there is one, which has the run's shapes.
  bool compares = false;
};

/// A query's answer.
struct Analysed {
  std::shared_ptr<const AnalysisResult> result;  ///< so far; null: nothing yet, or `error`
  std::string error;                             ///< one line: why there is none
  bool is_done = false;
  std::uint64_t run = 0;  ///< of the engine; an older one's until the newest run is analysed

  /// The result as the type that its analysis has; null where there is none.
  template <typename Result>
  const Result* as() const {
    return dynamic_cast<const Result*>(result.get());
  }
};

}  // namespace headlight::app
