#pragma once

#include <map>

#include "attention/block_shape.h"
#include "attention/mask_words.h"
#include "attention/stage.h"
#include "gpu/buffer.h"
#include "gpu/stream.h"
#include "model/config.h"
#include "ops/attention.h"
#include "ops/device_tensor.h"

namespace headlight::attention {

/// Tensors are shared between a run and the next one, which may take over what it would compute again.
using DeviceTensorPtr = std::shared_ptr<const ops::DeviceTensor>;

/// The tensors that one attention block left on the device: all that its maps can be evaluated from.
struct BlockRun {
  model::BlockRef ref;
  model::AttentionConfig config;
  BlockShape shape;
  DeviceTensorPtr x;       ///< [batch, 1, query, d_model], what Q is projected from; null when Q, K and V were given
  DeviceTensorPtr q;       ///< [batch, head, query, d_k], after norm and rotary positions where there are any
  DeviceTensorPtr k, v;    ///< [batch, KV head, key, d]
  DeviceTensorPtr stats;   ///< [batch, head, query] (m, l)
  DeviceTensorPtr merged;  ///< [batch, 1, query, heads · padded d_v]
  DeviceTensorPtr output;  ///< [batch, 1, query, d_out], null without an output projection
  /// Stages of the stream, [batch, 1, query, width]: only those that are asked for, where they are computed again.
  std::map<Stage, DeviceTensorPtr> stream;
  std::shared_ptr<const DeviceMask> mask;
  ops::MergedLayout layout;
  /// Blocks of two runs with the same version hold the same numbers in every stage; 0: unknown.
  std::uint64_t version = 0;

  /// Returns the inputs of the attention kernels for some of the queries.
  ops::AttentionInputs inputs(ops::Rows queries) const;
};

/// The tensors that one forward pass left on the device.
struct AttentionRun {
  std::vector<BlockRun> blocks;  ///< in the order of computation
  /// [batch, 1, token, d_model]: the token vectors, then what each layer returned; empty without such a stack.
  std::vector<DeviceTensorPtr> encoder_states, decoder_states;

  /// Throws Error when the run has no such block.
  const BlockRun& block(model::BlockRef ref) const;
};

/// Tiles whose evaluation is recorded on a stream, to be read when its submission is done.
class RecordedTiles {
 public:
  /// Returns how many of the requests, from the first on, one submission evaluates: at least one. Throws Error when the
  /// first one alone is more than the device binds.
  static std::size_t count(const gpu::Context& context, std::span<const TileRequest> requests);
  /// Throws Error naming the stage when a request lies outside its matrix or the block has no such stage. `run` and
  /// `requests` must outlive this.
  RecordedTiles(gpu::Stream& stream, ops::Kernels& kernels, const AttentionRun& run, std::span<const TileRequest> requests);

  /// Returns the tiles in the order of the requests.
  std::vector<Tile> read(const gpu::Submission& submission) const;

 private:
  std::span<const TileRequest> requests_;
  std::vector<bool> is_hidden_;  ///< of each request: the mask's rule hides all its cells, nothing is computed of them
  std::optional<gpu::Download> values_;
  std::vector<gpu::Download> stats_;  ///< of the maps among the requests
};

/// Evaluates the requests on the device, as many as fit into one submission at a time, and waits for them.
/// Throws Error naming the stage when a request lies outside its matrix or the block has no such stage.
std::vector<Tile> evaluate(ops::Kernels& kernels, const AttentionRun& run, std::span<const TileRequest> requests);

}  // namespace headlight::attention
