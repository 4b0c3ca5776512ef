#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attention/block_shape.h"
#include "attention/mask.h"
#include "attention/stage.h"
#include "core/tensor.h"
#include "inference/reuse.h"
#include "model/network.h"

namespace headlight::gpu {
class Context;
}

namespace headlight::inference {

using BlockShape = attention::BlockShape;

/// Measured cost of the last forward pass.
struct RunTiming {
  double gpu_ms = 0.0;           ///< by timestamps, first to last command of the pass
  double wall_ms = 0.0;          ///< recording, submission and wait
  std::uint32_t dispatches = 0;  ///< of the pass
  std::size_t device_bytes = 0;  ///< weights and run state on the device
  /// What the pass took over from the run before it: the first tokens of each item, and the first layers.
  std::uint32_t reused_tokens = 0, reused_layers = 0;
};

/// How weights are kept on the device; arithmetic is in float32 with either.
enum class Precision : std::uint8_t { F32, F16 };

/// The two stacks of an encoder–decoder; models with a single one have it as Encoder.
enum class Stack : std::uint8_t { Encoder, Decoder };

/// A hidden state of the last run: after `layer` layers (0: the token vectors), one token.
struct StateRef {
  std::uint32_t batch = 0;
  std::uint32_t token = 0;
  std::uint32_t layer = 0;
};

/// Bytes of weights that are on the device, and all of them. Returning false cancels: load() throws Error.
using LoadObserver = std::function<bool(std::size_t done_bytes, std::size_t total_bytes)>;

/// Kernels that are compiled of those that run() waits for.
using CompileObserver = std::function<void(std::size_t done, std::size_t total)>;

/// Runs networks on one device. Not thread-safe: one owner calls it, and its calls block until the GPU is done.
class Session {
 public:
  /// `tuning_file` remembers which kernels are the fastest on which device (ops/tuning.h); where it doesn't know this one, a
  /// guess serves until tune_step() has measured. Empty: the guess stays.
  explicit Session(gpu::Context& context, const std::filesystem::path& tuning_file = {});
  ~Session();
  Session(Session&&) noexcept;

  /// Streams a network's weights to the device, in place of those there. Throws Error before anything is allocated when the
  /// device can't hold them, with the sum and what to do about it.
  void load(std::shared_ptr<const model::Layers> layers, Precision precision, const LoadObserver& observer = {});
  /// Frees weights and run.
  void unload();

  /// One forward pass: a single submission. Weights go up once for each model::Layers object, in the precision that load()
  /// chose last. What the run before computed and this one would compute again is taken over: the tokens before the first
  /// edit of a causal model, the layers before the first changed mask or gain. When it throws, the run before is still
  /// there, unless the device had to make room. Throws Error in one line when the input is not valid or the device can't
  /// hold it (needed and available bytes).
  RunTiming run(std::shared_ptr<const model::Network> network, const model::ModelInput& input,
                const attention::MaskSet& masks, const HeadGains& gains = {});
  /// Called within run(), before it compiles the kernels that its pass lacks and the one that shows a map, and after each.
  void watch_compiling(CompileObserver observer);
  /// Makes the next run compute everything anew.
  void forget();

  /// Has the device been measured? If not, each step takes up to a second the first time a machine sees a kernel; do them
  /// when nobody waits. The numbers of the last run stay.
  bool is_tuned() const;
  void tune_step();

  /// Blocks of the last run, in the order of computation, with their shapes.
  std::vector<model::BlockRef> blocks() const;
  BlockShape shape(model::BlockRef block) const;

  /// Evaluates tiles of the last run on the GPU, all in one submission. Requests must lie inside their stage's extent.
  std::vector<attention::Tile> evaluate(std::span<const attention::TileRequest> requests);

  /// One stage of one block, all batch items and heads, exact: [batch, head, row, column] for per-head stages (Q has all
  /// heads, K and V those of the keys), [batch, row, column] for the others.
  Tensor stage(model::BlockRef block, attention::Stage stage);

  /// Hidden states [layer + 1, batch, token, d_model] of a stack: the token vectors, then what each layer returned, the last
  /// one after the final norm (transformers' output_hidden_states). Empty when there is no such stack.
  Tensor hidden(Stack stack);
  /// The stack's result after the final norm [batch, token, d_model]; empty when there is no such stack.
  Tensor encoder_output();

  /// Does the network of the last run have an unembedding?
  bool has_logits() const;
  /// [batch, token, vocabulary] of the last run's last stack; empty without an unembedding.
  Tensor logits();
  /// Logits [state, vocabulary] of some states of the last stack: every layer through the final norm and the unembedding
  /// ("logit lens", nostalgebraist 2020); of the last layer they are the model's own.
  Tensor logits(std::span<const StateRef> states);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headlight::inference
