#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/architectures/settings.h"
#include "model/config.h"
#include "model/positions.h"
#include "model/weights.h"

namespace headlight::model {

/// The sizes of one stack, from config.json.
struct StackSizes {
  std::uint32_t layers = 0, heads = 0, kv_heads = 0, d_k = 0, d_ff = 0;
  std::uint32_t max_length = 0;  ///< positions without the offset
};

/// A mixture of experts in some layers' place of the feed-forward.
struct ExpertSizes {
  std::uint32_t count = 0, per_token = 0;  ///< 0: no layer has experts
  std::uint32_t d_ff = 0, shared_d_ff = 0;
  bool gates_sum_to_one = false;
};

/// The sizes and options of config.json, under the same names for all families.
struct Sizes {
  StackKind kind = StackKind::Decoder;  ///< Encoder where the file holds an encoder–decoder's encoder alone
  Positions positions = Positions::Learned;
  StackSizes encoder, decoder;  ///< decoder: only of an encoder–decoder
  std::uint32_t d_model = 0, d_embedding = 0;
  std::uint32_t vocabulary = 0, target_vocabulary = 0;
  std::uint32_t position_offset = 0;
  std::uint32_t types = 0, task_types = 0;
  bool is_length_limited = false;            ///< no token beyond max_length has a position
  std::optional<DistanceVectors> distances;  ///< without their table, of `distance_rows` rows
  std::uint32_t distance_rows = 0;
  bool norms_distances = false, shares_projections = true;  ///< of distances with those of queries and keys
  bool has_content_position = false, has_position_content = false;
  std::uint32_t groups = 0;  ///< number of groups of layers that share weights (ALBERT); 0: none share
  ExpertSizes experts;
  std::vector<bool> has_experts;  ///< [layer] of the encoder
  float epsilon = 1e-5f;
  Activation activation = Activation::Gelu, head_activation = Activation::None;
  bool is_gated = false, is_parallel = false, is_tied = true, is_causal = true;
  bool is_multi_query = false;  ///< one KV head, and a fused projection is [q | k | v] whatever the family's layout
  bool has_head_norms = true;   ///< of queries and keys, where the family names them
  NormPosition norm_position = NormPosition::Before;
  bool has_final_norm = true, has_embedding_norm = true, has_transform_bias = true, has_head_bias = true;
  Biases biases;
  float embedding_scale = 1.0f, head_scale = 1.0f, residual_scale = 1.0f;
  float clip = 0.0f, attention_softcap = 0.0f, head_softcap = 0.0f;
  std::optional<std::uint32_t> dropped_id;  ///< Embedding::dropped_id
  std::vector<std::uint32_t> windows;       ///< [layer] of the encoder; 0: none
  bool has_local_rotary = false;            ///< layers with a window have RoPE frequencies of their own
  std::vector<bool> rotates;                ///< [layer] of the encoder: does it use RoPE?
  std::vector<Scale> scales;                ///< [layer] of the encoder
};

inline constexpr std::uint32_t kMaxVocabulary = 1u << 22;
inline constexpr std::uint32_t kMaxLength = 1u << 26;  ///< of a text, and of distances

/// `kind`: the stacks that there are. Throws Error naming the first value that is out of range or that Headlight doesn't
/// support.
Sizes read_sizes(const Settings& settings, const Family& family, StackKind kind);

/// The positions of each stack, by position_embedding_type where the family has several, and types of tokens.
void read_positions(const Settings& settings, const Family& family, Sizes& sizes);

/// RoPE as config.json describes it, by the keys before release 5 of transformers (rope_theta, rope_scaling) or the later
/// ones (rope_parameters): default, linear, dynamic, llama3, yarn and longrope.
/// `is_local` asks for those of layers with a window, which differ in Gemma 3. Throws Error naming an unsupported value.
Rotary read_rotary(const Settings& settings, const Family& family, std::uint32_t head_size, std::uint32_t max_length,
                   bool is_local);

}  // namespace headlight::model
