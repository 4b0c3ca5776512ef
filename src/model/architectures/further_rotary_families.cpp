#include <array>

#include "model/architectures/families.h"
#include "model/architectures/llama_kin.h"

namespace headlight::model {
namespace {

constexpr Family with_layer_norms(Family family, std::string_view epsilon_key, bool has_biases) {
  family.norm = Norm::Kind::Layer;
  family.reads[2] = epsilon_key;
  family.epsilon = 1e-5f;
  family.biases.norms = has_biases;
  return family;
}

/// Norms of what the branches return, none of what they read.
constexpr Family with_inside_norms(Family family) {
  family.encoder.self.norm = "";
  family.encoder.self.inside_norm = "post_attention_layernorm";
  family.encoder.feed_forward.norm = "";
  family.encoder.feed_forward.inside_norm = "post_feedforward_layernorm";
  return family;
}

constexpr Family ministral() {
  Family family = llama_kin("Ministral", "ministral");
  family.reads[3] = "sliding_window|layer_types";
  family.defaults = R"({"num_key_value_heads": 8})";
  family.window = 4096;
  family.max_length = 131'072;
  return family;
}

constexpr Family seed_oss() {
  Family family = llama_kin("Seed-OSS", "seed_oss");
  family.reads[3] = "attention_bias|attention_out_bias|mlp_bias";
  family.defaults = R"({"num_key_value_heads": 8})";
  family.head_size = 128;
  family.biases = {.projections = true,
                   .output = false,
                   .feed_forward = false,
                   .projections_key = "attention_bias",
                   .output_key = "attention_out_bias",
                   .feed_forward_key = "mlp_bias"};
  family.max_length = 524'288;
  return family;
}

/// Llama with a fused projection and other names; its class isn't among those of transformers itself.
constexpr Family internlm2() {
  Family family = llama_kin("InternLM 2", "internlm2");
  family.reads[0] =
      "hidden_size|intermediate_size|num_hidden_layers|num_attention_heads|num_key_value_heads|max_position_embeddings";
  family.reads[1] = "hidden_act|rope_scaling|rope_theta";
  family.reads[3] = "bias";
  family.encoder = {
      .table = "tok_embeddings",
      .layer = "layers.{}.",
      .self = {.fused = "attention.wqkv",
               .fused_layout = FusedLayout::PerHead,
               .output = "attention.wo",
               .norm = "attention_norm"},
      .feed_forward = {.in = "feed_forward.w3", .out = "feed_forward.w2", .gate = "feed_forward.w1", .norm = "ffn_norm"},
      .final_norm = "norm"};
  family.head.linear = "output";
  family.biases.projections = family.biases.output = true;
  family.biases.attention_key = "bias";
  return family;
}

constexpr Family granite() {
  Family family = llama_kin("Granite", "granite");
  family.reads[3] = "attention_bias|mlp_bias|embedding_multiplier|attention_multiplier|residual_multiplier|logits_scaling";
  family.biases.attention_key = "attention_bias";
  family.biases.feed_forward_key = "mlp_bias";
  family.attention_multiplier = 1.0;
  return family;
}

constexpr Family helium() {
  Family family = llama_kin("Helium", "helium");
  family.reads[3] = "attention_bias|mlp_bias";
  family.defaults = R"({"num_key_value_heads": 20})";
  family.head_size = 128;
  family.epsilon = 1e-8f;
  family.biases.projections_key = "attention_bias";
  family.biases.feed_forward_key = "mlp_bias";
  family.rope_theta = 100'000.0;
  family.is_rotary_interleaved = true;
  family.max_length = 4'096;
  return family;
}

constexpr Family ernie4_5() {
  Family family = llama_kin("ERNIE 4.5", "ernie4_5");
  family.reads[3] = "use_bias";
  family.defaults = R"({"num_key_value_heads": 2})";
  family.head_size = 128;
  family.epsilon = 1e-5f;
  family.biases.attention_key = "use_bias";
  family.biases.feed_forward_key = "use_bias";
  family.rope_theta = 500'000.0;
  family.is_rotary_interleaved = true;
  family.is_tied = true;
  family.max_length = 131'072;
  return family;
}

constexpr Family glm() {
  Family family = llama_kin("GLM", "glm");
  family.reads[3] = "attention_bias|partial_rotary_factor";
  family.defaults = R"({"num_key_value_heads": 2})";
  family.head_size = 128;
  family.epsilon = 1.5625e-7f;
  family.biases.projections = true;
  family.biases.projections_key = "attention_bias";
  family.encoder.feed_forward.in = family.encoder.feed_forward.gate = "";
  family.encoder.feed_forward.gate_and_in = "mlp.gate_up_proj";
  family.partial_rotary = 0.5;
  family.is_rotary_interleaved = true;
  family.max_length = 131'072;
  return family;
}

/// Norms before the branches and of what they return.
constexpr Family glm4() {
  Family family = glm();
  family.name = "GLM-4";
  family.types = "glm4";
  family.encoder.self.inside_norm = "post_self_attn_layernorm";
  family.encoder.feed_forward.inside_norm = "post_mlp_layernorm";
  return family;
}

constexpr Family olmo() {
  Family family = llama_kin("OLMo", "olmo");
  family.reads[2] = "attention_bias|clip_qkv";
  family.norm = Norm::Kind::Layer;
  family.is_norm_plain = true;
  family.epsilon = 1e-5f;
  family.biases.attention_key = "attention_bias";
  return family;
}

constexpr Family olmo2() {
  Family family = with_inside_norms(with_head_norms(llama_kin("OLMo 2", "olmo2")));
  family.reads[3] = "attention_bias";
  family.epsilon = 1e-5f;
  family.biases.attention_key = "attention_bias";
  family.head_norms = HeadNorms::Whole;
  return family;
}

/// Its layers with a window have RoPE without scaling.
constexpr Family olmo3() {
  Family family = olmo2();
  family.name = "OLMo 3";
  family.types = "olmo3";
  family.reads[3] = "attention_bias|sliding_window|layer_types";
  family.rope_theta = family.local_rope_theta = 500'000.0;
  family.window = 4096;
  family.window_period = 4;
  return family;
}

constexpr Family exaone4() {
  Family family = with_inside_norms(with_head_norms(llama_kin("EXAONE 4", "exaone4")));
  family.reads[3] = "sliding_window|layer_types|sliding_window_pattern";
  family.defaults = R"({"num_key_value_heads": 32})";
  family.epsilon = 1e-5f;
  family.window = 4096;
  family.window_period = 4;
  family.rotates_windows_only = true;
  return family;
}

/// The feed-forward reads the same norm as attention where they are parallel.
constexpr Family stablelm() {
  Family family = with_layer_norms(llama_kin("StableLM", "stablelm"), "layer_norm_eps", true);
  family.reads[0] =
      "hidden_size|intermediate_size|num_hidden_layers|num_attention_heads|num_key_value_heads|max_position_embeddings|"
      "is_causal";
  family.reads[3] = "use_qkv_bias|qk_layernorm|use_parallel_residual|partial_rotary_factor";
  family.defaults = R"({"num_key_value_heads": 32})";
  family.encoder.self.query_norm = "self_attn.q_layernorm.norms.{}";
  family.encoder.self.key_norm = "self_attn.k_layernorm.norms.{}";
  family.encoder.feed_forward.parallel_norm = "input_layernorm";
  family.head_norms = HeadNorms::Own;
  family.head_norms_key = "qk_layernorm";
  family.biases.head_norms = false;
  family.biases.projections_key = "use_qkv_bias";
  family.partial_rotary = 0.25;
  family.max_length = 4'096;
  return family;
}

constexpr Family cohere() {
  Family family = with_layer_norms(with_head_norms(llama_kin("Cohere", "cohere")), "layer_norm_eps", false);
  family.reads[3] = "attention_bias|use_qk_norm|logit_scale";
  family.encoder.feed_forward.norm = "input_layernorm";
  family.is_parallel = true;
  family.head_norms = HeadNorms::Own;
  family.head_norms_key = "use_qk_norm";
  family.biases.head_norms = false;
  family.biases.attention_key = "attention_bias";
  family.rope_theta = 500'000.0;
  family.is_rotary_interleaved = true;
  family.logit_scale = 0.0625;
  family.is_tied = true;
  family.max_length = 8'192;
  return family;
}

constexpr Family cohere2() {
  Family family = cohere();
  family.name = "Cohere 2";
  family.types = "cohere2";
  family.reads[3] = "attention_bias|logit_scale|sliding_window|layer_types|sliding_window_pattern";
  family.encoder.self.query_norm = family.encoder.self.key_norm = "";
  family.head_norms_key = "";
  family.rope_theta = 10'000.0;
  family.window = 4096;
  family.window_period = 4;
  family.rotates_windows_only = true;
  return family;
}

constexpr Family starcoder2() {
  Family family = with_layer_norms(llama_kin("StarCoder2", "starcoder2"), "norm_epsilon", true);
  family.reads[3] = "use_bias|sliding_window";
  family.defaults = R"({"num_key_value_heads": 2})";
  family.encoder.feed_forward.in = "mlp.c_fc";
  family.encoder.feed_forward.out = "mlp.c_proj";
  family.is_gated = false;
  family.activation = "gelu_pytorch_tanh";
  family.biases = {.attention_key = "use_bias", .feed_forward_key = "use_bias"};
  family.is_tied = true;
  family.max_length = 4'096;
  return family;
}

constexpr Family nemotron() {
  Family family = with_layer_norms(llama_kin("Nemotron", "nemotron"), "norm_eps", true);
  family.reads[3] = "attention_bias|mlp_bias|partial_rotary_factor";
  family.is_gated = false;
  family.activation = "relu2";
  family.norm_offset = 1.0f;
  family.biases.attention_key = "attention_bias";
  family.biases.feed_forward_key = "mlp_bias";
  family.partial_rotary = 0.5;
  family.max_length = 4'096;
  return family;
}

constexpr std::array kFurtherRotaryFamilies{ministral(), seed_oss(), internlm2(), granite(),    helium(),  ernie4_5(),
                                            glm(),       glm4(),     olmo(),      olmo2(),      olmo3(),   exaone4(),
                                            stablelm(),  cohere(),   cohere2(),   starcoder2(), nemotron()};

}  // namespace

std::span<const Family> further_rotary_families() { return kFurtherRotaryFamilies; }

}  // namespace headlight::model
