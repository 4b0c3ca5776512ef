#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/tensor.h"
#include "model/network.h"

namespace headlight::model::reference {

/// The oracle: plain loops in double precision, nothing shared with the kernels.

/// A dense double matrix stack, row-major.
struct Array {
  Shape shape;
  std::vector<double> values;
};

/// Every stage of one attention block.
struct AttentionStages {
  Array x;        ///< [batch, n_q, d_model], projected (after the norm, if any); empty when Q, K, V were given
  Array q, k, v;  ///< [batch, head, token, d], normed and RoPE-rotated; k and v have config.kv_heads heads
  Array scores, scaled, masked, weights;     ///< [batch, head, query, key]; `scaled` with softcap, position bias, ScoreEdit
  Array content_position, position_content;  ///< likewise, what distances add to `scores` (relate()); empty without them
  Array row_max, row_sum;  ///< [batch, head, query]: m and l of softmax; −inf and 0 where nothing is visible
  Array heads;             ///< [batch, head, query, d_v]
  Array merged;            ///< [batch, query, heads·d_v]
  Array output;            ///< [batch, query, d_out]; empty without an output projection
  Array router, gates;     ///< [batch, query, expert]; empty without experts
  /// The residual stream and the feed-forward, [batch, query, width], as attention::Stage names them; empty where the block
  /// has none.
  Array residual, attention_sum, attended, ffn_input, ffn_gate, ffn_hidden, ffn_active, ffn_output, ffn_sum, next;
};

/// Is key j visible to query i in this batch item and head of a block?
using Visibility =
    std::function<bool(BlockRef block, std::uint32_t batch, std::uint32_t head, std::uint32_t query, std::uint32_t key)>;

/// What becomes of a cell's number: of a scaled score, softcap and position bias included, before the mask; of a weight
/// after softmax.
using ScoreEdit = std::function<double(BlockRef block, std::uint32_t batch, std::uint32_t head, std::uint32_t query,
                                       std::uint32_t key, double number)>;

/// What one attention is beside its Q, K and V. Its functions may be called from several threads.
struct Attention {
  AttentionConfig config;
  BlockRef block;
  Visibility is_visible;
  double fill = 0.0;       ///< of masked scores
  ScoreEdit score = {};    ///< none: they stay
  ScoreEdit weight = {};   ///< likewise
  bool is_single = false;  ///< Arithmetic::is_single
};

/// One row of one map, every key.
struct AttentionRow {
  std::vector<double> scores, scaled, masked, weights;
  std::vector<std::uint8_t> is_visible;
  double max = 0.0, sum = 0.0;  ///< m and l
};
/// `stages` has Q and K, and what relate() gives. `only_visible`: scores of masked cells stay 0, which their weights don't
/// depend on.
AttentionRow attention_row(const Attention& attention, const AttentionStages& stages, std::uint32_t batch,
                           std::uint32_t head, std::uint32_t query, bool only_visible = false);

/// How a pass computes. The oracle's way is the plain one: one thread, double precision, every map kept.
struct Arithmetic {
  /// y = x · weightᵀ + bias over the last axis; none: apply().
  std::function<Array(const Linear& linear, const Array& x)> multiply = {};
  /// Calls part(0) … part(count − 1), perhaps on several threads; none: one after the other.
  std::function<void(std::uint32_t count, double multiply_adds, const std::function<void(std::uint32_t)>& part)> loop = {};
  bool keeps_maps = true;  ///< [query, key] of every head
  bool is_single = false;  ///< each stage is rounded to float32, as a device's are, and may be infinite where these are
};
/// x as such a pass writes it.
Array written(const Arithmetic& arithmetic, Array x);

/// One attention from given Q, K, V (the middle of the pass).
void attend(const Attention& attention, AttentionStages& stages, const Arithmetic& arithmetic = {});

/// Sets stages.content_position and position_content from Q and K; attend() adds them to the scores.
void relate(const DistanceVectors& distances, const AttentionLayer& layer, AttentionStages& stages);

/// The parts of a forward pass around attention.

Array zeros(Shape shape);
Array widen(const Tensor& tensor);

/// y = x · weightᵀ + bias over the last axis.
Array apply(const Linear& linear, const Array& x);
/// LayerNorm (with the biased variance) or RMSNorm over the last axis.
Array apply(const Norm& norm, Array x);
/// norm(x); x itself without a norm.
Array apply(const std::optional<Norm>& norm, Array x);
/// What follows the projection of queries or keys [batch, head, token, d_k]: normed, then cut to ±clip. `heads` are all of
/// them where the norm spans heads, else those from `first_head` on.
Array finish_projection(const AttentionConfig& config, const std::optional<Norm>& norm, Array x,
                        std::uint32_t first_head = 0);

/// [batch, head, token, d] → [batch, token, heads·d] in either order.
Array merge_heads(const Array& split, MergeOrder order);
/// RoPE: rotates the pairs of [batch, head, token, d] by the tokens' positions.
Array rotate(const Rotary& rotary, const TokenBatch& tokens, Array x);

/// Token vectors [batch, token, d_model]; those of the input when there is no embedding.
Array embed(const Embedding* embedding, const TokenBatch& tokens);

}  // namespace headlight::model::reference
