#include <array>

#include "model/architectures/families.h"

namespace headlight::model {
namespace {

constexpr Names kGgufSizes =
    "block_count|embedding_length|feed_forward_length|context_length|attention.head_count|attention.head_count_kv|"
    "attention.key_length";
constexpr Names kGgufRotaryKeys = "attention.layer_norm_rms_epsilon|rope.dimension_count|rope.freq_base|rope_scaling";

/// The names that all architectures share.
constexpr StackNames kStack{
    .table = "token_embd",
    .layer = "blk.{}.",
    .self = {.query = "attn_q", .key = "attn_k", .value = "attn_v", .output = "attn_output", .norm = "attn_norm"},
    .feed_forward = {.in = "ffn_up", .out = "ffn_down", .gate = "ffn_gate", .norm = "ffn_norm"},
    .final_norm = "output_norm"};

constexpr Family gguf_llama_kin(std::string_view name, Names types) {
  return {.name = name,
          .types = types,
          .prefixes = "",
          .reads = {kGgufSizes, kGgufRotaryKeys},
          .encoder = kStack,
          .head = {.linear = "output"},
          .ignored = "rope_freqs.weight|rope_factors_long.weight|rope_factors_short.weight",
          .norm = Norm::Kind::RootMeanSquare,
          .biases = {.projections = false, .output = false, .feed_forward = false},
          .is_gated = true,
          .activation = "silu",
          .positions = Positions::Rotary};
}

/// Rows of queries and keys are rearranged so that RoPE's pairs are adjacent. Mistral and SmolLM are "llama" too.
constexpr Family gguf_llama() {
  Family family = gguf_llama_kin("Llama", "llama");
  family.is_rotary_interleaved = true;
  return family;
}

constexpr Family gguf_qwen2() {
  Family family = gguf_llama_kin("Qwen2", "qwen2");
  family.biases.projections = true;
  return family;
}

constexpr Family gguf_with_head_norms(Family family) {
  family.encoder.self.query_norm = "attn_q_norm";
  family.encoder.self.key_norm = "attn_k_norm";
  return family;
}

constexpr Family gguf_phi3() {
  Family family = gguf_llama_kin("Phi-3", "phi3");
  family.reads[2] = "attention.sliding_window";
  family.encoder.self.fused = "attn_qkv";
  family.encoder.feed_forward.gate_and_in = "ffn_up";
  return family;
}

/// The weights of norms are stored with Gemma's 1 added.
constexpr Family gguf_gemma() {
  Family family = gguf_llama_kin("Gemma", "gemma");
  family.activation = "gelu_pytorch_tanh";
  family.scales_embedding = true;
  return family;
}

constexpr Family gguf_gemma2() {
  Family family = gguf_gemma();
  family.name = "Gemma 2";
  family.types = "gemma2";
  family.reads[2] = "query_pre_attn_scalar|attention.sliding_window|attn_logit_softcapping|final_logit_softcapping";
  family.defaults = R"({"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0})";
  family.encoder.self.inside_norm = "post_attention_norm";
  family.encoder.feed_forward.inside_norm = "post_ffw_norm";
  family.query_scalar = 256.0;
  family.window = 4096;
  family.window_period = 2;
  return family;
}

constexpr Family gguf_gemma3() {
  Family family = gguf_with_head_norms(gguf_gemma2());
  family.name = "Gemma 3";
  family.types = "gemma3";
  family.reads[2] = "query_pre_attn_scalar|attention.sliding_window|final_logit_softcapping|rope.freq_base_swa";
  family.defaults = "{}";
  family.rope_theta = 1'000'000.0;
  family.local_rope_theta = 10'000.0;
  family.window_period = 6;
  return family;
}

constexpr Family gguf_gpt2() {
  Family family{.name = "GPT-2", .types = "gpt2", .prefixes = "", .reads = {kGgufSizes, "attention.layer_norm_epsilon"}};
  family.encoder = kStack;
  family.head.linear = "output";
  family.encoder.positions = "position_embd";
  family.encoder.self.fused = "attn_qkv";
  family.activation = "gelu_new";
  return family;
}

constexpr Family gguf_bert() {
  Family family{.name = "BERT", .types = "bert", .prefixes = "", .kind = StackKind::Encoder};
  family.reads = {kGgufSizes, "attention.layer_norm_epsilon|type_vocab_size"};
  family.encoder = kStack;
  family.encoder.positions = "position_embd";
  family.encoder.types = "token_types";
  family.encoder.embedding_norm = "token_embd_norm";
  family.encoder.self.norm = "attn_output_norm";
  family.encoder.feed_forward.norm = "layer_output_norm";
  family.encoder.final_norm = "";
  family.epsilon = 1e-12f;
  family.norm_position = NormPosition::After;
  return family;
}

constexpr std::array kGgufFamilies{gguf_llama(),  gguf_qwen2(), gguf_with_head_norms(gguf_llama_kin("Qwen3", "qwen3")),
                                   gguf_phi3(),   gguf_gemma(), gguf_gemma2(),
                                   gguf_gemma3(), gguf_gpt2(),  gguf_bert()};

}  // namespace

std::span<const Family> gguf_families() { return kGgufFamilies; }

}  // namespace headlight::model
