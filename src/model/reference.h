#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/tensor.h"
#include "model/network.h"
#include "model/site.h"

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
  Array scores, scaled, masked, weights;  ///< [batch, head, query, key]; `scaled` with softcap, position bias, ScoreEdit
  Array row_max, row_sum;  ///< [batch, head, query]: m and l of softmax; −inf and 0 where nothing is visible
  Array heads;             ///< [batch, head, query, d_v]
  Array merged;            ///< [batch, query, heads·d_v]
  Array output;            ///< [batch, query, d_out]; empty without an output projection
  /// The residual stream and the feed-forward, [batch, query, width], as attention::Stage names them; empty where the block
  /// has none.
  Array residual, attention_sum, attended, ffn_input, ffn_gate, ffn_hidden, ffn_active, ffn_output, ffn_sum, next;
};

/// Is key j visible to query i in this batch item and head of a block?
using Visibility =
    std::function<bool(BlockRef block, std::uint32_t batch, std::uint32_t head, std::uint32_t query, std::uint32_t key)>;

/// Changes the numbers of a site [batch, head, token, d] of a block where the pass has computed them; sites without heads
/// have one. Of Site::Weights the numbers are the queries, where a uniform pattern begins.
using SiteEdit = std::function<void(BlockRef block, Site site, Array& values)>;

/// What becomes of a cell's number: of a scaled score, softcap and position bias included, before the mask; of a weight
/// after softmax.
using ScoreEdit = std::function<double(BlockRef block, std::uint32_t batch, std::uint32_t head, std::uint32_t query,
                                       std::uint32_t key, double number)>;

struct Run {
  std::vector<BlockRef> blocks;
  std::vector<AttentionStages> stages;  ///< one for each of `blocks`
  /// [batch, token, d_model] each: token vectors, then the state after each layer, before the final norm.
  std::vector<Array> encoder_hidden, decoder_hidden;
  Array encoder_output;  ///< [batch, n, d_model] after the final norm; empty without an encoder
  Array decoder_output;  ///< [batch, n_target, d_model] after the final norm; empty without a decoder
  Array logits;          ///< [batch, token, vocabulary]; empty without an unembedding
};

/// A whole forward pass. `fill` replaces masked scores; −inf leaves fully masked rows without weights (zeros).
Run run(const Network& network, const ModelInput& input, const Visibility& is_visible, double fill,
        const SiteEdit& edit = {}, const ScoreEdit& score = {}, const ScoreEdit& weight = {});

/// One attention from given Q, K, V (the middle of the pass).
void attend(const AttentionConfig& config, BlockRef block, const Visibility& is_visible, double fill,
            AttentionStages& stages, const PositionBias* bias = nullptr, const SiteEdit& edit = {},
            const ScoreEdit& score = {}, const ScoreEdit& weight = {});

}  // namespace headlight::model::reference
