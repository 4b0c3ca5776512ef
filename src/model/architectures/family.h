#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/weights.h"

namespace headlight::model {

/// Names of modules, to which ".weight" and ".bias" are appended: '|' separates alternatives, "{}" is the layer's
/// number, and an empty name means that the family has no such part.
using Names = std::string_view;

struct AttentionNames {
  std::string query, key, value;
  std::string fused;  ///< one weight instead of the three
  FusedLayout fused_layout = FusedLayout::QueryKeyValue;
  std::string output;
  std::string query_norm, key_norm;
  std::string position_query, position_key;  ///< of distances, where they share none with queries and keys
  std::string norm;                          ///< before the branch or after the sum, depending on the family
  std::string inside_norm;                   ///< of the branch's output
};

struct FeedForwardNames {
  std::string in, out;
  std::string gate;         ///< read when the family's feed-forward is gated
  std::string gate_and_in;  ///< one weight [gate | in] instead of the two
  std::string norm, inside_norm;
  std::string parallel_norm;  ///< in place of `norm` where the feed-forward is parallel to attention; empty: `norm`
};

/// Of a mixture of experts. Weights of all experts are one tensor [expert, out, in] under a name as it is or with ".weight";
/// in a name with "{}", which stands for the expert's number, each is a tensor of its own.
struct ExpertNames {
  std::string router;
  std::string in, out, gate;
  std::string gate_and_in;  ///< [gate | in] of each expert, read where the file has it
  FeedForwardNames shared = {};
  std::string shared_gate;
};

/// One stack of layers with what comes before and after it.
struct StackNames {
  std::string table, positions, types, task_types, embedding_norm, projection;
  std::string layer;  ///< prefixes of a layer's names: "h.{}."
  AttentionNames self = {}, cross = {};
  FeedForwardNames feed_forward = {};
  ExpertNames experts = {};  ///< in place of feed_forward's layers, after its norms
  std::string final_norm;
  std::string position_bias;  ///< a table of buckets; with "{}" one for each layer
  std::string distances;      ///< vectors of distances; with "{}" those of each layer, which no projection follows
  std::string distance_norm;  ///< of them, where norm_rel_ebd is "layer_norm"
  std::string frequencies;    ///< whole names of RoPE's inverse frequencies; those of the config where the file has none
  bool adds_positions_last = false;  ///< Embedding::adds_positions_last
};

/// From states to logits. Outside of the family's prefix.
struct HeadNames {
  std::string linear;  ///< absent where the embedding's table is used
  std::string bias;    ///< whole name of the tensor; the linear layer's own takes precedence, as in transformers
  std::string transform, norm;
};

/// The keys of a stack's sizes in config.json or in a GGUF file: '|' separates alternatives, of which a family reads those
/// in Family::reads. A key that transformers keeps for all models (its attribute_map) comes first: it overrides the family's
/// own.
struct StackKeys {
  std::string layers = "num_hidden_layers|n_layer|n_layers|num_layers|block_count";
  std::string heads = "num_attention_heads|n_head|n_heads|num_heads|attention_heads|attention.head_count";
  std::string d_ff = "intermediate_size|n_inner|ffn_dim|hidden_dim|ffn_hidden_size|feed_forward_length";
  std::string max_length;  ///< where it isn't Keys::max_length
};

struct Keys {
  StackKeys encoder = {}, decoder = {};
  std::string d_model = "n_embed|hidden_size|n_embd|dim|d_model|embedding_length";
  std::string max_length = "max_position_embeddings|n_positions|context_length|seq_length|max_seq_len";
  std::string epsilon =
      "layer_norm_eps|layer_norm_epsilon|rms_norm_eps|norm_epsilon|norm_eps|attention.layer_norm_epsilon|"
      "attention.layer_norm_rms_epsilon";
  std::string activation = "hidden_activation|hidden_act|activation_function|activation|afn";
  std::string head_size = "head_dim|d_kv|attention.key_length";
  std::string experts = "num_experts|num_local_experts|expert_count";
};

enum class StackKind : std::uint8_t { Encoder, Decoder, EncoderDecoder };
enum class NormPosition : std::uint8_t { Before, After };
enum class Positions : std::uint8_t {
  Learned,
  Sinusoidal,  ///< sines in the first half, cosines in the second: computed unless stored
  Rotary,
  Alibi,
  Buckets,
  Distances,  ///< vectors of distances alone
};

/// Which parts have biases, and the keys of config.json that override this.
struct Biases {
  bool projections = true, output = true, feed_forward = true;
  bool norms = true, head_norms = true;     ///< of LayerNorms, and of those of queries and keys
  std::string attention_key;                ///< of projections and output together …
  std::string projections_key, output_key;  ///< … or of one of them
  std::string feed_forward_key, norm_key;
};

/// The norms of queries and keys.
enum class HeadNorms : std::uint8_t {
  Shared,  ///< over each head's components, by the same weights [d_k]
  Own,     ///< by weights of the head's own: a tensor [heads, d_k], or one a head, with "{}" as its number in the name
  Whole,   ///< over all heads of a token together, by weights [heads·d_k]
};

/// A family of networks as a table of names and differences; no code. family_file.cpp reads it from JSON, where `encoder` is
/// "stack" and `types` "model_type".
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): fields are in the order in which tables name them
struct Family {
  std::string name;            ///< "GPT-2"
  std::string types;           ///< model_type of config.json, or general.architecture of a GGUF file
  std::string prefixes = "|";  ///< of all names below; a stack saved alone has none
  StackKind kind = StackKind::Decoder;
  /// The keys of config.json, or of a GGUF file's metadata, that such a network depends on in transformers (in llama.cpp).
  /// All other keys are ignored, as they are there: files keep keys of other families that mean nothing.
  std::vector<std::string> reads;
  std::vector<std::string> needs;  ///< of these keys, those without which the network isn't known
  Keys keys = {};
  StackNames encoder = {};  ///< the only stack of Encoder and Decoder
  StackNames decoder = {};
  HeadNames head = {};
  std::string ignored;  ///< tensors of this family that aren't needed; '*' matches anything

  Norm::Kind norm = Norm::Kind::Layer;
  nlohmann::json defaults = nlohmann::json::object();  ///< of keys that config.json omits
  float norm_offset = 0.0f;
  bool is_norm_plain = false;  ///< norms have neither weights nor biases; their names only say where they are
  float epsilon = 1e-5f;       ///< when config.json has none
  NormPosition norm_position = NormPosition::Before;
  bool skips_first_norm = false;  ///< the first layer's attention reads the embedding, normed already, as it is
  Biases biases = {};
  bool finds_parts = false;         ///< tensors, not keys, say which optional parts there are: find_parts()
  bool is_transposed = false;       ///< linear weights are [in, out]: GPT-2's Conv1D
  bool is_projected_first = false;  ///< Embedding::adds_positions_last; such projections have no bias
  bool is_gated = false;
  bool is_parallel = false;           ///< the default of use_parallel_residual and parallel_attn
  bool are_experts_optional = false;  ///< no experts where their number is 0 or isn't given
  bool gates_sum_to_one = false;      ///< the default of norm_topk_prob
  HeadNorms head_norms = HeadNorms::Shared;
  std::string head_norms_key;  ///< without this key set there are none
  std::string activation = "gelu";
  bool is_gelu_tanh = false;        ///< "gelu" means its approximation
  std::string head_activation;      ///< after the head's transform; "=": as the layers'
  std::string head_activation_key;  ///< of config.json, which overrides this
  std::uint32_t d_ff_factor = 4;    ///< d_ff = factor · d_model when config.json has none
  std::uint32_t head_size = 0;      ///< when config.json has none; 0: d_model / heads

  Positions positions = Positions::Learned;
  bool is_rotary_optional = false;  ///< position_embedding_type "rotary" stands for Rotary
  bool is_sinusoid_closed = false;  ///< the lowest frequency of the sines is 1/10000 itself, as in fairseq
  std::uint32_t buckets = 0;        ///< used of a table of position biases; 0: all
  std::uint32_t position_offset = 0;
  bool counts_offset = false;       ///< max_length of config.json includes the offset
  std::uint32_t max_length = 2048;  ///< default of max_position_embeddings where positions are rotary
  double rope_theta = 10'000.0;
  double partial_rotary = 0.0;     ///< default of the share of a head that RoPE rotates; 0: all of it, whatever the keys say
  double local_rope_theta = 0.0;   ///< of layers with a window, whose RoPE has an object of its own; 0: they have none
  bool scales_local_rope = false;  ///< rope_scaling is about those layers too
  bool is_rotary_interleaved = false;
  bool is_yarn_longrope = false;         ///< the RoPE type "yarn" means LongRoPE
  std::uint32_t plain_layer_period = 0;  ///< each n-th layer has no rotary positions: the default of no_rope_layer_interval

  bool scales_embedding = false;           ///< by √d_model: the default of scale_embedding
  double attention_multiplier = 0.0;       ///< default of the key of this name; 0: 1/√d_k
  double logit_scale = 1.0;                ///< default of logit_scale
  bool divides_logits = false;             ///< by logit_scale, which multiplies elsewhere
  bool scales_attention = true;            ///< by 1/√d_k
  bool scales_head = false;                ///< by 1/√d_model: the default of scale_decoder_outputs where the head is tied
  double query_scalar = 0.0;               ///< default of query_pre_attn_scalar; 0: the family has none
  std::uint32_t window = 0;                ///< default of sliding_window
  std::uint32_t window_period = 0;         ///< each layer has the window but every n-th; 0: all have it
  bool begins_without_window = false;      ///< of each n layers the first has none, not the last
  bool is_window_of_both_sides = false;    ///< the config's window is the sum of both sides
  bool is_window_optional = false;         ///< no window without use_sliding_window
  bool ends_windows = false;               ///< layers from max_window_layers on have none, instead of those before
  bool is_window_of_plain_layers = false;  ///< without layer_types, the layers without rotary positions have it
  bool rotates_windows_only = false;       ///< where there is a window, only layers with it have rotary positions
  bool is_bidirectional_optional = false;  ///< use_bidirectional_attention: no causal mask, windows of both sides together
  bool rounds_alibi = false;               ///< PositionBias::Kind::KeySlopes, by 1/√d_k
  bool is_tied = true;                     ///< default of tie_word_embeddings
};

}  // namespace headlight::model
