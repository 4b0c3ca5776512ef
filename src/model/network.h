#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "model/config.h"
#include "model/positions.h"
#include "model/site.h"
#include "model/weights.h"

namespace headlight::model {

struct TokenBatch;

/// Token vectors: norm(table[id]·scale + positions[position + position_offset] + types[type]), then the projection.
/// With adds_positions_last: projection(norm(table[id]·scale)) + positions[position + position_offset] + types[type].
struct Embedding {
  Parameter table = {};                   ///< [vocabulary, d_embedding]
  float scale = 1.0f;                     ///< notebook 002, Marian and Gemma multiply by √d_model
  Parameter positions = {};               ///< [max_length + position_offset, d_embedding] or empty: none
  std::uint32_t position_offset = 0;      ///< 2 in OPT, BART and RoBERTa
  Parameter types = {};                   ///< [types, d_embedding] or empty: BERT's token types
  std::optional<Norm> norm = {};          ///< BERT, BLOOM
  std::optional<Linear> projection = {};  ///< [d_model, d_embedding]: ALBERT, ELECTRA, OPT-350m
  bool computes_positions = false;        ///< M2M-100's and XGLM's positions are no weights
  bool adds_positions_last = false;       ///< OPT-350m, whose position and type embeddings are [.., d_model]
  /// ESM's token_dropout: rows of this id are 0, the others are multiplied by the share of tokens that weren't masked in
  /// training, and divided by that of their line.
  std::optional<std::uint32_t> dropped_id = {};

  /// What each line's rows of the table are multiplied by.
  std::vector<double> line_factors(const TokenBatch& tokens) const;
};

/// The three norms around one branch (attention or feed-forward) of a layer:
///   y = inside(branch(before(x)));  x ← after(x + scale · y)
/// A branch without any norm has no residual either, unless it says so: x ← branch(x), the notebooks' bare heads.
struct BranchNorms {
  std::optional<Norm> before = {};  ///< pre-norm: GPT-2, Llama, T5
  std::optional<Norm> inside = {};  ///< of the branch's output: Gemma 2 and 3
  std::optional<Norm> after = {};   ///< post-norm ("Attention Is All You Need", §3.1): BERT, Marian
  bool is_bare_residual = false;    ///< a residual without any norm: ModernBERT's first layer
  float scale = 1.0f;               ///< Granite's residual_multiplier; 1 where there is a norm inside or after

  bool is_empty() const { return !before && !inside && !after && !is_bare_residual; }
};

/// One attention block and what follows it.
struct AttentionLayer {
  AttentionConfig config;
  std::optional<AttentionWeights> weights = {};  ///< none: the input has Q, K and V (notebooks 000 and 003)
  std::optional<Linear> given_output = {};       ///< W_O of a layer without `weights`: of a capture
  BranchNorms norms = {};
  std::optional<FeedForward> feed_forward = {};
  std::optional<Experts> experts = {};  ///< in place of feed_forward
  BranchNorms feed_forward_norms = {};  ///< not empty when there is a feed_forward or experts
  /// The feed-forward reads the layer's input, parallel to attention: x ← x + attention(x) + feed_forward(x) (GPT-NeoX).
  bool is_parallel = false;

  bool has_feed_forward() const { return feed_forward || experts; }
};

/// A decoder layer: self-attention (absent in a pure cross-attention stack), then attention to the memory.
struct DecoderLayer {
  std::optional<AttentionLayer> self = {};
  AttentionLayer cross;  ///< the feed-forward, if any, follows the cross-attention
};

/// From hidden states to logits: softcap(linear(norm(activation(transform(x))) · scale)).
struct Unembedding {
  std::optional<Linear> transform = {};      ///< BERT's prediction head, OPT-350m's projection
  Activation activation = Activation::None;  ///< after the transform
  std::optional<Norm> norm = {};             ///< after the transform
  Linear linear;                             ///< [vocabulary, d]; often the embedding's own table
  float scale = 1.0f;                        ///< T5 with tied embeddings: 1/√d_model
  float softcap = 0.0f;                      ///< Gemma 2: logits z become softcap · tanh(z / softcap); 0: off
};

/// Everything of a network except its embeddings. Models with a single stack (GPT-2, BERT, …) have it in `encoder`.
struct Layers {
  std::vector<AttentionLayer> encoder = {};
  std::vector<DecoderLayer> decoder = {};
  std::optional<Norm> encoder_norm = {}, decoder_norm = {};  ///< after the last layer of pre-norm stacks
  std::vector<Rotary> rotaries = {};
  std::vector<PositionBias> position_biases = {};
  std::vector<DistanceVectors> distances = {};
  std::optional<Unembedding> unembedding = {};  ///< logits of the decoder's (else encoder's) last state
};

/// Immutable weights of one network. Encoder only, encoder–decoder, or a decoder whose memory is the embedded source
/// itself (the playground's cross-attention of two texts, where `encoder` is empty).
/// Networks share the three parts: the same object means the same weights. Editing a text needs a new embedding at most, and
/// the layers stay in memory, also on a device.
struct Network {
  std::shared_ptr<const Embedding> source_embedding = {};  ///< none: the input has vectors (or Q, K and V)
  std::shared_ptr<const Embedding> target_embedding = {};  ///< may be the same object as the source's
  std::shared_ptr<const Layers> layers = {};               ///< never null in a network that passed check()
  std::vector<std::uint32_t> separators = {};              ///< ids after which another document of a line begins
  /// Of a hybrid, of whose layers only some have attention: the model's numbers of those, ascending, in the decoder or the
  /// only stack. BlockRef::layer is this number everywhere. Empty: 0, 1, …
  std::vector<std::uint32_t> layer_numbers = {};

  /// The number of the layer at this index of the decoder or the only stack.
  std::uint32_t layer_number(std::size_t index) const {
    return index < layer_numbers.size() ? layer_numbers[index] : static_cast<std::uint32_t>(index);
  }
  /// Blocks in order of computation.
  std::vector<BlockRef> blocks() const;
  /// Throws Error when there is no such block.
  const AttentionLayer& layer(BlockRef block) const;
  /// Number of weights and biases; an embedding that serves both sides counts once.
  std::size_t parameter_count() const;
  /// Of these, the ones that a token doesn't use, because its routers choose others.
  std::size_t idle_parameter_count() const;
};

/// Tokens [first, end) of a line that belong together: a turn of a chat, named by its role.
struct TokenSpan {
  std::string name;
  std::uint32_t first = 0, end = 0;

  bool operator==(const TokenSpan&) const = default;
};

/// A batch of token sequences padded to the longest.
struct TokenBatch {
  std::uint32_t batch = 1;
  std::uint32_t length = 0;                 ///< padded length n
  std::vector<std::uint32_t> lengths = {};  ///< [batch] real tokens; the rest is padding
  std::vector<std::uint32_t> starts = {};   ///< [batch] index of the first real token (padding on the left); empty: 0
  /// [batch·length] rows of Embedding::table, kPaddingId for padding (a zero vector, like nn.Embedding's padding_idx);
  /// unused when `vectors` is given.
  std::vector<std::uint32_t> ids = {};
  /// [batch·length] positions as the embedding and rotary positions count them; empty: from each item's first real token on.
  std::vector<std::uint32_t> positions = {};
  std::vector<std::uint32_t> types = {};             ///< [batch·length] rows of Embedding::types; empty: 0
  Tensor vectors = {};                               ///< [batch, length, d_model] when the input has vectors instead of ids
  std::vector<std::vector<std::string>> texts = {};  ///< [batch][length] labels of the axes; "<pad>" for padding
  std::vector<std::vector<TokenSpan>> spans = {};    ///< [batch] of each line, in their order; empty: there are none

  /// Labels of a line's tokens, or of one token; null where there are none.
  const std::vector<std::string>* labels(std::uint32_t item) const { return item < texts.size() ? &texts[item] : nullptr; }
  const std::string* label(std::uint32_t item, std::size_t token) const;
  /// A line's spans; none where there are none.
  std::span<const TokenSpan> spans_of(std::uint32_t item) const {
    return item < spans.size() ? std::span<const TokenSpan>(spans[item]) : std::span<const TokenSpan>();
  }
  /// A token's label, or its number where it has none.
  std::string name(std::uint32_t item, std::size_t token) const;
  /// " “the”", to follow the token's number; "" where it has no label.
  std::string quoted(std::uint32_t item, std::size_t token) const;
  std::uint32_t start(std::uint32_t item) const { return starts.empty() ? 0 : starts[item]; }
  /// One past the last real token.
  std::uint32_t end(std::uint32_t item) const { return item < lengths.size() ? start(item) + lengths[item] : length; }
  /// Position of a token; padding before the first real one has position 0.
  std::uint32_t position(std::uint32_t item, std::uint32_t token) const;
  /// One more than the largest position, padding included.
  std::uint32_t position_count() const;
  /// Likewise of one line's own tokens, without its padding: what LongRoPE depends on.
  std::uint32_t position_count(std::uint32_t item) const;
};
inline constexpr std::uint32_t kPaddingId = 0xffffffffu;

/// Q, K and V given directly instead of projected (notebooks 000 and 003).
struct GivenQkv {
  Tensor query;  ///< [batch, heads, n_q, d_k]
  Tensor key;    ///< [batch, heads, n_k, d_k]
  Tensor value;  ///< [batch, heads, n_k, d_v]
};

/// The input of one forward pass.
struct ModelInput {
  TokenBatch source = {};                 ///< the encoder's tokens; for cross-attention the keys' side
  std::optional<TokenBatch> target = {};  ///< the decoder's tokens: the queries' side of cross-attention
  std::optional<GivenQkv> qkv = {};       ///< only with a network whose single layer has no weights

  /// The sequence whose tokens are a block's queries / keys.
  const TokenBatch& queries(BlockKind kind) const;
  const TokenBatch& keys(BlockKind kind) const;
  /// The sequence whose tokens are the rows of a site.
  const TokenBatch& tokens(BlockKind kind, Site site) const { return is_of_keys(site) ? keys(kind) : queries(kind); }
};

/// Largest sizes of one attention that check() accepts; a device's memory may allow less.
inline constexpr std::uint32_t kMaxModelWidth = 16'384;  ///< d_model, d_k and d_v
inline constexpr std::uint32_t kMaxModelHeads = 128;

/// Throws Error in one line when network and input don't fit together or sizes are out of range.
void check(const Network& network, const ModelInput& input);

}  // namespace headlight::model
