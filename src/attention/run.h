#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attention/block_shape.h"
#include "attention/mask_words.h"
#include "attention/stage.h"
#include "model/config.h"
#include "ops/attention.h"
#include "ops/device_tensor.h"

namespace headlight::attention {

/// What one attention block left on the device: everything that its maps can be evaluated from.
struct BlockRun {
  model::BlockRef ref;
  model::AttentionConfig config;
  BlockShape shape;
  std::shared_ptr<const ops::DeviceTensor> x;       ///< [batch, 1, query, d_model]; null when Q, K and V were given
  ops::DeviceTensor q, k, v;                        ///< [batch, head, token, d]
  ops::DeviceTensor stats;                          ///< [batch, head, query] (m, l)
  ops::DeviceTensor merged;                         ///< [batch, 1, query, heads · padded d_v]
  std::shared_ptr<const ops::DeviceTensor> output;  ///< [batch, 1, query, d_out], null without an output projection
  DeviceMask mask;
  ops::MergedLayout layout;
};

/// What one forward pass left on the device. Left of it code computes, right of it code only looks.
struct AttentionRun {
  std::vector<BlockRun> blocks;                             ///< in the order of computation
  std::shared_ptr<const ops::DeviceTensor> encoder_output;  ///< [batch, 1, token, d_model] or null
  std::shared_ptr<const ops::DeviceTensor> logits;          ///< [batch, 1, token, vocabulary] or null

  /// Throws Error when the run has no such block.
  const BlockRun& block(model::BlockRef ref) const;
};

/// Evaluates the requests on the device, as many as fit into one submission at a time, and waits for them.
/// Throws Error naming the stage when a request lies outside its matrix or the block has no such stage.
std::vector<Tile> evaluate(ops::Kernels& kernels, const AttentionRun& run, std::span<const TileRequest> requests);

}  // namespace headlight::attention
