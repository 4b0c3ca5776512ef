#pragma once

#include <optional>

#include "attention/stage.h"

namespace headlight::attention {

/// Sizes of one block of a run: what a view needs to lay out its matrices.
struct BlockShape {
  std::uint32_t batch = 0, heads = 0, queries = 0, keys = 0, d_model = 0, d_k = 0, d_v = 0;
  std::uint32_t kv_heads = 0;  ///< of K and V; divides heads
  std::uint32_t d_merged = 0;  ///< heads·d_v
  std::uint32_t d_output = 0;  ///< 0: no output projection, stage Output doesn't exist
  bool has_input = false;      ///< false: Q, K, V were given, stage X doesn't exist
  bool has_values = true;      ///< false: of a capture, stages V, Heads and Merged don't exist
  /// Distances add to the scores: stages ContentPosition and PositionContent exist.
  bool has_content_position = false, has_position_content = false;
  bool only_weights = false;  ///< of a capture that has weights alone: neither do Q, K and the scores
  /// The block adds to a residual stream: stages Residual and Attended exist, and AttentionSum where the sum is normed.
  bool has_residual = false, norms_sum = false;
  bool norms_input = false;  ///< X is a norm of Residual; else it is Residual itself
  /// A feed-forward follows this block, not another block: stages FfnOutput and Next exist.
  bool has_feed_forward = false;
  std::uint32_t d_ff = 0;     ///< its inner width, with stages FfnHidden and FfnActive; 0: it has experts
  std::uint32_t experts = 0;  ///< how many; 0: it has none, nor stages FfnRouter and FfnGates
  bool is_parallel = false;   ///< the feed-forward reads Residual instead of Attended
  bool has_gate = false;      ///< stage FfnGate exists
  bool norms_ffn_input = false, norms_ffn_sum = false;  ///< stages FfnInput and FfnSum exist

  bool operator==(const BlockShape&) const = default;

  /// [rows, columns] of one matrix of the stage, or nullopt when the block has no such stage.
  struct Extent {
    std::uint32_t rows = 0, columns = 0;
  };
  std::optional<Extent> extent(Stage stage) const;
};

/// Throws Error naming the stage when a request lies outside its matrix, or a block of this shape has no such stage.
void check(const BlockShape& shape, const TileRequest& request);

}  // namespace headlight::attention
