#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attention/block_shape.h"
#include "attention/mask.h"
#include "attention/stage.h"
#include "core/tensor.h"
#include "model/network.h"

namespace headlight::gpu {
class Context;
}

namespace headlight::inference {

using BlockShape = attention::BlockShape;

/// Measured cost of the last forward pass.
struct RunTiming {
  double gpu_ms = 0.0;           ///< by timestamps, first to last command of the submission
  double wall_ms = 0.0;          ///< recording, submission and wait
  std::uint32_t dispatches = 0;  ///< in the one submission of the pass
  std::size_t device_bytes = 0;  ///< weights and run state on the device
};

/// Runs networks on one device. Not thread-safe: one owner calls it, and its calls block until the GPU is done.
class Session {
 public:
  /// `tuning_file` remembers which kernels are the fastest on which device (ops/tuning.h); where it doesn't know this one, a
  /// guess serves until tune_step() has measured. Empty: the guess stays.
  explicit Session(gpu::Context& context, const std::filesystem::path& tuning_file = {});
  ~Session();
  Session(Session&&) noexcept;

  /// One forward pass: a single submission. Weights go up once for each model::Layers object. When it throws, the run before
  /// is still there, unless the device had to make room.
  /// Throws Error in one line when the input is not valid or the device can't hold it (needed and available bytes).
  RunTiming run(std::shared_ptr<const model::Network> network, const model::ModelInput& input,
                const attention::MaskSet& masks);

  /// Has the device been measured? If not, each step takes up to a second the first time a machine sees a kernel; do them
  /// when nobody waits. The numbers of the last run stay.
  bool is_tuned() const;
  void tune_step();

  /// Blocks of the last run, in the order of computation, with their shapes.
  std::vector<model::BlockRef> blocks() const;
  BlockShape shape(model::BlockRef block) const;

  /// Evaluates tiles of the last run on the GPU, all in one submission. Requests must lie inside their stage's extent.
  std::vector<attention::Tile> evaluate(std::span<const attention::TileRequest> requests);

  /// One stage of one block, all batch items and heads, exact: [batch, head, row, column] for per-head stages,
  /// [batch, row, column] for the others.
  Tensor stage(model::BlockRef block, attention::Stage stage);

  /// Hidden state after the last layer [batch, token, d_model] of the encoder / decoder, and logits when the network has
  /// an unembedding; empty otherwise.
  Tensor encoder_output();
  Tensor logits();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headlight::inference
