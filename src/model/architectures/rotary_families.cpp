#include <array>

#include "model/architectures/families.h"
#include "model/architectures/llama_kin.h"

namespace headlight::model {
namespace {

constexpr Names kQwenWindow = "rms_norm_eps|use_sliding_window|sliding_window|max_window_layers|layer_types";

constexpr Family llama() {
  Family family = llama_kin("Llama", "llama");
  family.reads[2] = "rms_norm_eps|attention_bias|mlp_bias";
  family.biases.attention_key = "attention_bias";
  family.biases.feed_forward_key = "mlp_bias";
  return family;
}

constexpr Family mistral() {
  Family family = llama_kin("Mistral", "mistral");
  family.reads[2] = "rms_norm_eps|sliding_window";
  family.defaults = R"({"num_key_value_heads": 8})";
  family.window = 4096;
  family.max_length = 131'072;
  return family;
}

constexpr Family qwen2() {
  Family family = llama_kin("Qwen2", "qwen2");
  family.reads[2] = kQwenWindow;
  family.defaults = R"({"num_key_value_heads": 32})";
  family.biases.projections = true;
  family.window = 4096;
  family.is_window_optional = true;
  family.max_length = 32'768;
  return family;
}

constexpr Family qwen3() {
  Family family = with_head_norms(llama_kin("Qwen3", "qwen3"));
  family.reads[2] = kQwenWindow;
  family.reads[3] = "attention_bias";
  family.defaults = R"({"num_key_value_heads": 32})";
  family.biases.attention_key = "attention_bias";
  family.head_size = 128;
  family.window = 4096;
  family.is_window_optional = true;
  family.max_length = 32'768;
  return family;
}

constexpr Family smollm3() {
  Family family = llama();
  family.name = "SmolLM3";
  family.types = "smollm3";
  family.reads[3] = "use_sliding_window|sliding_window|layer_types|no_rope_layers|no_rope_layer_interval";
  family.defaults = R"({"num_key_value_heads": 4})";
  family.rope_theta = 2'000'000.0;
  family.plain_layer_period = 4;
  family.is_window_of_plain_layers = true;
  family.is_window_optional = true;
  family.is_tied = true;
  family.max_length = 32'768;
  return family;
}

constexpr Family phi3() {
  Family family = llama_kin("Phi-3", "phi3");
  family.reads[2] = "rms_norm_eps|sliding_window|partial_rotary_factor";
  family.defaults = R"({"original_max_position_embeddings": 4096})";
  family.partial_rotary = 1.0;
  family.is_yarn_longrope = true;
  AttentionNames& self = family.encoder.self;
  self.query = self.key = self.value = "";
  self.fused = "self_attn.qkv_proj";
  family.encoder.feed_forward.in = family.encoder.feed_forward.gate = "";
  family.encoder.feed_forward.gate_and_in = "mlp.gate_up_proj";
  family.epsilon = 1e-5f;
  family.max_length = 4'096;
  return family;
}

constexpr Family gemma() {
  Family family = llama_kin("Gemma", "gemma");
  family.reads[2] = "rms_norm_eps|attention_bias|use_bidirectional_attention";
  family.defaults = R"({"num_key_value_heads": 16})";
  family.biases.attention_key = "attention_bias";
  family.norm_offset = 1.0f;
  family.activation = "gelu_pytorch_tanh";
  family.is_gelu_tanh = true;
  family.head_size = 256;
  family.scales_embedding = true;
  family.is_tied = true;
  family.max_length = 8'192;
  return family;
}

constexpr Family gemma2() {
  Family family = gemma();
  family.name = "Gemma 2";
  family.types = "gemma2";
  family.reads[1] = "hidden_activation|rope_parameters|rope_scaling|rope_theta|original_max_position_embeddings";
  family.reads[3] = "query_pre_attn_scalar|sliding_window|layer_types|attn_logit_softcapping|final_logit_softcapping";
  family.defaults = R"({"num_key_value_heads": 4, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0})";
  family.is_gelu_tanh = false;
  family.encoder.self.inside_norm = "post_attention_layernorm";
  family.encoder.feed_forward.norm = "pre_feedforward_layernorm";
  family.encoder.feed_forward.inside_norm = "post_feedforward_layernorm";
  family.query_scalar = 256.0;
  family.window = 4096;
  family.window_period = 2;
  return family;
}

/// In a multimodal Gemma 3 the text part is one level deeper.
constexpr Family gemma3() {
  Family family = with_head_norms(gemma2());
  family.name = "Gemma 3";
  family.types = "gemma3_text|gemma3";
  family.reads[1] = "hidden_activation|rope_parameters|rope_scaling|rope_theta|rope_local_base_freq|text_config";
  family.reads[3] = "query_pre_attn_scalar|sliding_window|layer_types|sliding_window_pattern|final_logit_softcapping";
  family.prefixes = "model.|model.language_model.|language_model.model.|";
  family.head.linear = "lm_head|language_model.lm_head";
  family.defaults = R"({"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4})";
  family.rope_theta = 1'000'000.0;
  family.local_rope_theta = 10'000.0;
  family.is_bidirectional_optional = true;
  family.window_period = 6;
  family.max_length = 131'072;
  return family;
}

constexpr std::array kRotaryFamilies{llama(), mistral(), qwen2(), qwen3(), smollm3(), phi3(), gemma(), gemma2(), gemma3()};

}  // namespace

std::span<const Family> rotary_families() { return kRotaryFamilies; }

}  // namespace headlight::model
