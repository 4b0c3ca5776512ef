#pragma once

#include "attention/layer_graph.h"
#include "attention/stage.h"
#include "core/tensor.h"
#include "inference/reuse.h"
#include "inference/weight_findings.h"
#include "model/network.h"

namespace headlight::inference {

using BlockShape = attention::BlockShape;

/// The shape that a block of this layer has in a run of the input, before there is one.
BlockShape shape_of(const model::AttentionLayer& layer, model::BlockKind kind, const model::ModelInput& input);

/// Measured cost of a forward pass.
struct RunTiming {
  double gpu_ms = 0.0;           ///< by timestamps, first to last command of the pass
  double wall_ms = 0.0;          ///< recording, submission and wait
  std::uint32_t dispatches = 0;  ///< of the pass
  std::size_t device_bytes = 0;  ///< weights and run state on the device, those of other runs included
  /// The parts that the pass took over from its base: the first tokens of each item, and the first layers.
  std::uint32_t reused_tokens = 0, reused_layers = 0;
};

/// The two stacks of an encoder–decoder; models with a single one have it as Encoder.
enum class Stack : std::uint8_t { Encoder, Decoder };

/// A hidden state of a run: after `layer` layers (0: the token vectors), one token.
struct StateRef {
  std::uint32_t batch = 0;
  std::uint32_t token = 0;
  std::uint32_t layer = 0;
  /// [d_model, d_model] and its bias: logits are read of h + W·h + b in place of the state h. Keeps its whole lens
  /// (model::LinearLens), whose other layers stay on the device too; none: of the state itself.
  std::shared_ptr<const model::Linear> translator = {};
};

/// The content of rows of the residual stream: the state after `layer` layers (0: the token vectors), before the final
/// norm; or the result of the feed-forward network of layer number `layer` (0: the first), before a norm of it.
enum class StreamPart : std::uint8_t { State, FeedForward };

/// Consecutive tokens' rows of the residual stream.
struct ResidualRows {
  Stack stack = Stack::Encoder;
  std::uint32_t layer = 0;
  std::uint32_t batch = 0;
  std::uint32_t first = 0;  ///< token, padding counted
  std::uint32_t count = 0;  ///< tokens
  StreamPart part = StreamPart::State;
};

/// Rows that needn't be of the run's text, times a weight: a question about weights, which uses the run's device.
struct Product {
  Tensor rows = {};                                  ///< [row, in]
  std::shared_ptr<const model::Linear> weight = {};  ///< [out, in]; none: the unembedding's, with its scale and bias alone
};

/// One forward pass: what it was computed from, and everything that can be asked about it. Immutable: its numbers stay
/// whatever is run later, until the last handle goes. Not thread-safe: it is used by the thread that uses its session.
/// A run of attention alone, without a network around it, has no states and no logits: asked for them it throws Error.
class Run {
 public:
  Run(PassInputs inputs, const RunTiming& timing, const RunFindings& findings = {})
      : inputs_(std::move(inputs)), timing_(timing), findings_(findings) {}
  virtual ~Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const PassInputs& inputs() const { return inputs_; }
  const RunTiming& timing() const { return timing_; }
  /// Counts of the pass's numbers that are NaN or infinite; a run that no pass computed has no counts.
  const RunFindings& findings() const { return findings_; }

  /// Returns the run's blocks in the order of computation.
  virtual std::vector<model::BlockRef> blocks() const = 0;
  /// Throws Error when the run has no such block.
  virtual BlockShape shape(model::BlockRef block) const = 0;
  /// Two runs whose blocks have the same version have the same numbers in all stages of it, so that what was evaluated for
  /// one holds for the other. Throws Error when the run has no such block.
  virtual std::uint64_t version(model::BlockRef block) const = 0;

  /// Evaluates tiles, all in one submission where they fit. Throws Error when a request lies outside its stage's extent.
  virtual std::vector<attention::Tile> evaluate(std::span<const attention::TileRequest> requests) const = 0;

  /// Hidden states [layer + 1, batch, token, d_model] of a stack: the token vectors, then what each layer returned, the last
  /// one after the final norm (transformers' output_hidden_states). Empty when there is no such stack.
  virtual Tensor hidden(Stack /*stack*/) const { return {}; }
  /// The encoder's result after the final norm [batch, token, d_model]; empty when there is no encoder.
  virtual Tensor encoder_output() const { return {}; }

  /// Does the network have an unembedding?
  virtual bool has_logits() const { return false; }
  /// [batch, token, vocabulary] of the last stack; empty without an unembedding.
  virtual Tensor logits() const { return {}; }
  /// Logits [state, vocabulary] of some states of the last stack: every layer through the final norm and the unembedding
  /// ("logit lens", nostalgebraist 2020), after its translator where it has one; of the last layer they are the model's own.
  virtual Tensor logits(std::span<const StateRef> states) const;

  /// Rows of the residual stream, each [count, d_model] as the layers read and wrote them: unlike hidden(), the last layer's
  /// are before the final norm. What a feed-forward network returned isn't kept: it is computed again, for the whole text.
  /// All are read in one submission. Throws Error when a request names rows that the run doesn't have.
  virtual std::vector<Tensor> residuals(std::span<const ResidualRows> requests) const;

  /// Rows · weightᵀ + bias, [row, out] each: here in double precision; runs of a session compute them as its layers.
  virtual std::vector<Tensor> products(std::span<const Product> products) const;

  /// Tiles, logits of states and residuals as evaluate(), logits() and residuals() have them, in one submission where they
  /// fit; products beside them.
  struct Questions {
    std::span<const attention::TileRequest> tiles = {};
    std::span<const StateRef> states = {};
    std::span<const ResidualRows> residuals = {};
    std::span<const Product> products = {};
  };
  struct Answers {
    std::vector<attention::Tile> tiles;
    Tensor logits;
    std::vector<Tensor> residuals;
    std::vector<Tensor> products;
  };
  virtual Answers answer(const Questions& questions) const {
    Answers answers;
    if (!questions.tiles.empty()) answers.tiles = evaluate(questions.tiles);
    if (!questions.states.empty()) answers.logits = logits(questions.states);
    if (!questions.residuals.empty()) answers.residuals = residuals(questions.residuals);
    if (!questions.products.empty()) answers.products = products(questions.products);
    return answers;
  }

  /// One stage of one block, all batch items and heads, exact: [batch, head, row, column] for per-head stages (Q has all
  /// heads, K and V the KV heads), [batch, row, column] for the others. Throws Error when the block has no such stage.
  Tensor stage(model::BlockRef block, attention::Stage stage) const;

 protected:
  /// Sets the outcome of a run that is computed in its constructor.
  void set_outcome(const RunTiming& timing, const RunFindings& findings) {
    timing_ = timing;
    findings_ = findings;
  }

 private:
  PassInputs inputs_;
  RunTiming timing_;
  RunFindings findings_;
};

}  // namespace headlight::inference
