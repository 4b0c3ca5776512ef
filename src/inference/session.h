#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attention/mask.h"
#include "attention/stage.h"
#include "core/tensor.h"
#include "model/network.h"

namespace headlight::gpu {
class Context;
}

namespace headlight::inference {

/// Sizes of one block of a run: what a view needs to lay out its matrices.
struct BlockShape {
  std::uint32_t batch = 0, heads = 0, queries = 0, keys = 0, d_model = 0, d_k = 0, d_v = 0;
  std::uint32_t d_merged = 0;  ///< heads·d_v
  std::uint32_t d_output = 0;  ///< 0: no output projection, stage Output doesn't exist
  bool has_input = false;      ///< false: Q, K, V were given, stage X doesn't exist

  /// [rows, columns] of one matrix of the stage, or nullopt when the block has no such stage.
  struct Extent {
    std::uint32_t rows = 0, columns = 0;
  };
  std::optional<Extent> extent(attention::Stage stage) const;
};

/// Measured cost of the last forward pass.
struct RunTiming {
  double gpu_ms = 0.0;            ///< by timestamps, first to last command of the submission
  double wall_ms = 0.0;           ///< recording, submission and wait
  std::uint32_t dispatches = 0;   ///< in the one submission of the pass
  std::size_t device_bytes = 0;   ///< weights and run state on the device
};

/// Runs networks on one device. Not thread-safe: one owner calls it, and its calls block until the GPU is done.
class Session {
 public:
  explicit Session(gpu::Context& context);
  ~Session();
  Session(Session&&) noexcept;

  /// One forward pass: a single submission. Weights go up once per network (by identity of the pointer).
  /// Throws Error in one line when the input is not valid or the device can't hold it (needed and available bytes).
  RunTiming run(std::shared_ptr<const model::Network> network, const model::ModelInput& input, const attention::MaskSet& masks);

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
