#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "model/config.h"
#include "model/weights.h"

namespace headlight::model {

/// Token vectors: table[id]·scale + positions[i].
struct Embedding {
  Tensor table = {};      ///< [vocabulary, d_model]
  float scale = 1.0f;     ///< notebook 002 multiplies by √d_model
  Tensor positions = {};  ///< [max_length, d_model] or empty: nothing is added
};

/// One attention block and what follows it. Post-norm residuals ("Attention Is All You Need", §3.1):
///   y = attention(x, memory);  x ← norm ? LayerNorm(x + y) : y;  x ← feed_forward ? LayerNorm(x + ff(x)) : x
struct AttentionLayer {
  AttentionConfig config;
  std::optional<AttentionWeights> weights = {};  ///< none: Q, K, V come with the input (notebooks 000 and 003)
  std::optional<LayerNorm> norm = {};
  std::optional<FeedForward> feed_forward = {};
  std::optional<LayerNorm> feed_forward_norm = {};  ///< exactly when there is a feed_forward
};

/// A decoder layer: self-attention (absent in a pure cross-attention stack), then attention to the memory.
struct DecoderLayer {
  std::optional<AttentionLayer> self = {};
  AttentionLayer cross;  ///< the feed-forward, if any, follows the cross-attention
};

/// Everything of a network but its token vectors.
struct Layers {
  std::vector<AttentionLayer> encoder = {};
  std::vector<DecoderLayer> decoder = {};
  std::optional<Linear> unembedding = {};  ///< [vocabulary, d_model]: logits of the decoder's (else encoder's) last state
};

/// Immutable weights of one network. Encoder only, encoder–decoder, or a decoder whose memory is the embedded source
/// itself (the playground's cross-attention of two texts, where `encoder` is empty).
/// The three parts are shared between networks: one that is still the same object is still the same numbers, so that a
/// text edited by hand needs a new embedding at most and the layers stay where they are, also on a device.
struct Network {
  std::shared_ptr<const Embedding> source_embedding = {};  ///< none: the input brings vectors (or Q, K and V)
  std::shared_ptr<const Embedding> target_embedding = {};  ///< may be the same object as the source's
  std::shared_ptr<const Layers> layers = {};               ///< never null in a network that passed check()

  /// Blocks in the order in which they are computed.
  std::vector<BlockRef> blocks() const;
  /// Throws Error when there is no such block.
  const AttentionLayer& layer(BlockRef block) const;
  /// Number of weights and biases; an embedding that serves both sides counts once.
  std::size_t parameter_count() const;
};

/// A batch of token sequences padded to the longest.
struct TokenBatch {
  std::uint32_t batch = 1;
  std::uint32_t length = 0;                 ///< padded length n
  std::vector<std::uint32_t> lengths = {};  ///< [batch] real tokens; the rest is padding
  /// [batch·length] rows of Embedding::table, kPaddingId for padding (a zero vector, like nn.Embedding's padding_idx);
  /// unused when `vectors` is given.
  std::vector<std::uint32_t> ids = {};
  Tensor vectors = {};  ///< [batch, length, d_model] when the input brings vectors instead of ids
  std::vector<std::vector<std::string>> texts = {};  ///< [batch][length] what people read on the axes; "<pad>" for padding
};
inline constexpr std::uint32_t kPaddingId = 0xffffffffu;

/// Q, K and V given as numbers instead of projected (notebooks 000 and 003).
struct GivenQkv {
  Tensor query;  ///< [batch, heads, n_q, d_k]
  Tensor key;    ///< [batch, heads, n_k, d_k]
  Tensor value;  ///< [batch, heads, n_k, d_v]
};

/// What one forward pass runs on.
struct ModelInput {
  TokenBatch source = {};                 ///< the encoder's tokens; for cross-attention the keys' side
  std::optional<TokenBatch> target = {};  ///< the decoder's tokens: the queries' side of cross-attention
  std::optional<GivenQkv> qkv = {};       ///< only with a network whose single layer has no weights

  /// The sequence whose tokens are a block's queries / keys.
  const TokenBatch& queries(BlockKind kind) const;
  const TokenBatch& keys(BlockKind kind) const;
};

/// Largest sizes of one attention that check() accepts; what a device can hold is the device's own question.
inline constexpr std::uint32_t kMaxModelWidth = 8'192;  ///< d_model, d_k and d_v
inline constexpr std::uint32_t kMaxModelHeads = 64;

/// Throws Error in one line when network and input don't fit together or sizes are out of range.
void check(const Network& network, const ModelInput& input);

}  // namespace headlight::model
