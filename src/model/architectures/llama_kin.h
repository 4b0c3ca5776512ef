#pragma once

#include "model/architectures/family.h"

namespace headlight::model {

inline constexpr StackNames kLlamaStack{.table = "embed_tokens",
                                        .layer = "layers.{}.",
                                        .self = {.query = "self_attn.q_proj",
                                                 .key = "self_attn.k_proj",
                                                 .value = "self_attn.v_proj",
                                                 .output = "self_attn.o_proj",
                                                 .norm = "input_layernorm"},
                                        .feed_forward = {.in = "mlp.up_proj",
                                                         .out = "mlp.down_proj",
                                                         .gate = "mlp.gate_proj",
                                                         .norm = "post_attention_layernorm"},
                                        .final_norm = "norm"};
inline constexpr Biases kNoBiases{.projections = false, .output = false, .feed_forward = false};

inline constexpr Names kRotaryWidths =
    "hidden_size|intermediate_size|num_hidden_layers|num_attention_heads|num_key_value_heads|head_dim|"
    "max_position_embeddings|is_causal";
inline constexpr Names kRotaryKeys = "hidden_act|rope_parameters|rope_scaling|rope_theta|original_max_position_embeddings";

/// Common to Llama-like families: RMSNorm before gated branches without biases, RoPE.
constexpr Family llama_kin(std::string_view name, Names types) {
  return {.name = name,
          .types = types,
          .prefixes = "model.|",
          .reads = {kRotaryWidths, kRotaryKeys, "rms_norm_eps"},
          .encoder = kLlamaStack,
          .head = {.linear = "lm_head"},
          .ignored = "*.rotary_emb.inv_freq",
          .norm = Norm::Kind::RootMeanSquare,
          .epsilon = 1e-6f,
          .biases = kNoBiases,
          .is_gated = true,
          .activation = "silu",
          .positions = Positions::Rotary,
          .is_tied = false};
}

constexpr Family with_head_norms(Family family) {
  family.encoder.self.query_norm = "self_attn.q_norm";
  family.encoder.self.key_norm = "self_attn.k_norm";
  return family;
}

}  // namespace headlight::model
