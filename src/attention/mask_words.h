#pragma once

#include "attention/dropout.h"
#include "attention/fixed_pattern.h"
#include "attention/mask.h"
#include "gpu/buffer.h"
#include "gpu/stream.h"
#include "model/config.h"
#include "model/positions.h"
#include "ops/mask_data.h"

namespace headlight::attention {

/// The maps of one block that a mask is packed for.
struct MaskExtent {
  std::uint32_t layer = 0;
  std::uint32_t batch = 0;
  std::uint32_t heads = 0;
  std::uint32_t queries = 0;
  std::uint32_t keys = 0;
  std::uint32_t layers = 1;  ///< of the stack
  /// [head] that take the place of computed ones; or empty
  std::span<const std::optional<ReplacementPattern>> patterns = {};
  std::optional<DropoutPlan> dropout = {};  ///< of the weights
};

/// Does the scope name this map?
bool concerns(const PaintScope& scope, std::uint32_t layer, std::uint32_t batch, std::uint32_t head);

/// A MaskSpec on the device: the rule stays numbers, key lengths and the cells of matrices and painted masks become words.
/// Maps that deny or allow the same cells share one plane, so that a matrix for all heads is there once.
struct DeviceMask {
  gpu::Buffer words;
  ops::MaskData data;  ///< data.words is set by mask_data(), because the buffer may move
  /// Words for the products of queries and of keys with vectors of distances, which ops::distance_scores() writes; 0: none.
  std::uint32_t content_position_at = 0, position_content_at = 0;
};
/// `key_ranges` [batch, 2]: first real key and one past the last. `bias`: position_bias_words() or distance_words(), or
/// empty. `tokens`: of all batch items, for expressions.
DeviceMask upload_mask(gpu::Stream& stream, const MaskSpec& mask, const MaskExtent& extent,
                       std::span<const std::uint32_t> key_ranges, std::span<const std::uint32_t> bias = {},
                       const ExpressionTokens& tokens = {});

/// A position bias as shaders/lib/score.glsl reads it, for queries and keys up to this far apart. `key_ranges` as above.
std::vector<std::uint32_t> position_bias_words(const model::PositionBias& bias, std::uint32_t farthest,
                                               std::span<const std::uint32_t> key_ranges);

/// Rows of the vectors of distances that queries and keys of a text need.
struct DistanceRows {
  std::uint32_t first = 0, count = 0;
};
DistanceRows distance_rows(const model::DistanceVectors& distances, std::uint32_t queries, std::uint32_t keys);

/// Returns the header of the terms that distances add to scores, as shaders/lib/score.glsl reads it, but with counts of
/// words in place of their offsets: upload_mask() makes room for them. Throws Error where these are too many words.
std::vector<std::uint32_t> distance_words(const model::DistanceVectors& distances, const model::AttentionConfig& config,
                                          std::uint32_t batch, std::uint32_t queries, std::uint32_t keys);

/// Returns the mask in the form that ops take.
ops::MaskData mask_data(const DeviceMask& mask);

/// A block's mask has at most so many bytes, whatever the device: each different set of cells is a table of its own,
/// so that a few paints may ask for far more than all their cells take.
inline constexpr std::size_t kMaxMaskBytes = std::size_t{512} << 20;
/// Throws Error where so many words are more.
void check_mask_words(std::size_t words);

}  // namespace headlight::attention
