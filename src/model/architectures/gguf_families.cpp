#include <array>

#include "model/architectures/families.h"

namespace headlight::model {
namespace {

constexpr Names kGgufSizes =
    "block_count|embedding_length|feed_forward_length|context_length|attention.head_count|attention.head_count_kv|"
    "attention.key_length";
constexpr Names kGgufRotaryKeys = "rope.dimension_count|rope.freq_base|rope_scaling";
constexpr Names kWindowKeys = "attention.sliding_window|layer_types|sliding_window_pattern";
constexpr Names kGemmaKeys =
    "query_pre_attn_scalar|attention.sliding_window|layer_types|sliding_window_pattern|final_logit_softcapping|"
    "rope.freq_base_swa|use_bidirectional_attention";
constexpr Names kCohereKeys = "logit_scale|attention.sliding_window|layer_types|sliding_window_pattern";

/// The names that all architectures share.
constexpr StackNames kStack{.table = "token_embd",
                            .positions = "position_embd",
                            .types = "token_types",
                            .embedding_norm = "token_embd_norm",
                            .layer = "blk.{}.",
                            .self = {.query = "attn_q",
                                     .key = "attn_k",
                                     .value = "attn_v",
                                     .fused = "attn_qkv",
                                     .output = "attn_output",
                                     .query_norm = "attn_q_norm",
                                     .key_norm = "attn_k_norm",
                                     .norm = "attn_norm",
                                     .inside_norm = "post_attention_norm"},
                            .feed_forward = {.in = "ffn_up",
                                             .out = "ffn_down",
                                             .gate = "ffn_gate",
                                             .gate_and_in = "ffn_up",
                                             .norm = "ffn_norm",
                                             .inside_norm = "post_ffw_norm",
                                             .parallel_norm = "attn_norm"},
                            .experts = {.router = "ffn_gate_inp",
                                        .in = "ffn_up_exps|ffn_up.{}",
                                        .out = "ffn_down_exps|ffn_down.{}",
                                        .gate = "ffn_gate_exps|ffn_gate.{}",
                                        .shared = {.in = "ffn_up_shexp", .out = "ffn_down_shexp", .gate = "ffn_gate_shexp"},
                                        .shared_gate = "ffn_gate_inp_shexp"},
                            .final_norm = "output_norm"};

/// kStack without the parts that the family doesn't have.
StackNames stack_names(const Family& family) {
  StackNames names = kStack;
  const auto keep = [](Names& name, Names theirs) {
    if (theirs.empty()) name = "";
  };
  const StackNames& own = family.encoder;
  keep(names.positions, own.positions);
  keep(names.types, own.types);
  keep(names.embedding_norm, own.embedding_norm);
  keep(names.self.query, own.self.query);
  keep(names.self.query_norm, own.self.query_norm);
  keep(names.self.key_norm, own.self.key_norm);
  keep(names.self.norm, own.self.norm);
  keep(names.self.inside_norm, own.self.inside_norm);
  keep(names.feed_forward.gate_and_in, own.feed_forward.gate_and_in);
  keep(names.feed_forward.norm, own.feed_forward.norm);
  keep(names.feed_forward.parallel_norm, own.feed_forward.parallel_norm);
  keep(names.feed_forward.inside_norm, own.feed_forward.inside_norm);
  if (own.experts.router.empty()) names.experts = {};
  if (own.experts.shared.in.empty()) names.experts.shared = {};
  keep(names.final_norm, own.final_norm);
  if (own.feed_forward.norm == own.self.norm) names.feed_forward.norm = names.self.norm;
  if (family.norm_position == NormPosition::After) {
    names.self.norm = "attn_output_norm";
    names.feed_forward.norm = "layer_output_norm";
  }
  return names;
}

/// A family of config.json under the names and keys of GGUF files. They name every size and window, and hold linear weights
/// as [out, in], rows of fused projections as [q | k | v] and norms that are stored as differences from 1 with their 1.
/// `model_type`: of config.json, where it has another name there.
Family in_gguf(std::string_view type, Names reads = "", std::string_view defaults = "{}", std::string_view model_type = "") {
  Family family = *find_family(model_type.empty() ? type : model_type);
  family.types = type;
  family.prefixes = "";
  const Names epsilon =
      family.norm == Norm::Kind::RootMeanSquare ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon";
  family.reads = {kGgufSizes, epsilon, family.positions == Positions::Rotary ? kGgufRotaryKeys : "",
                  family.kind == StackKind::Decoder ? "attention.causal" : "", reads};
  family.needs = {"context_length|feed_forward_length", epsilon};
  family.keys = {};
  family.encoder = stack_names(family);
  family.head = {.linear = "output", .bias = family.head.bias.empty() ? "" : "output.bias"};
  family.ignored = "rope_freqs.weight|rope_factors_long.weight|rope_factors_short.weight";
  family.defaults = defaults;
  family.norm_offset = 0.0f;
  family.finds_parts = true;
  family.is_transposed = false;
  family.head_size = 0;
  family.partial_rotary = 0.0;
  family.attention_multiplier = 0.0;
  family.is_yarn_longrope = false;
  family.window = 0;
  family.is_tied = true;
  return family;
}

constexpr Names kGgufExpertKeys =
    "expert_count|expert_used_count|expert_feed_forward_length|expert_shared_feed_forward_length";

/// A mixture of experts; whether gates are normed follows from the architecture.
Family experts_in_gguf(std::string_view type, std::string_view model_type, bool gates_sum_to_one) {
  Family family = in_gguf(type, kGgufExpertKeys, "{}", model_type);
  family.gates_sum_to_one = gates_sum_to_one;
  return family;
}

Family needing(Names keys, Family family) {
  family.needs[2] = keys;
  return family;
}

/// Rows of queries and keys are rearranged so that RoPE's pairs are adjacent.
Family permuted(Family family) {
  family.is_rotary_interleaved = true;
  return family;
}

/// Mistral, SmolLM and Mixtral are "llama" too.
Family gguf_llama() {
  Family family = permuted(in_gguf("llama", kGgufExpertKeys));
  family.encoder.experts = kStack.experts;
  family.encoder.experts.shared = {};
  family.gates_sum_to_one = family.are_experts_optional = true;
  return family;
}

/// OLMo 3 is the same with a window in three of four layers.
Family gguf_olmo2() {
  Family family = in_gguf("olmo3", kWindowKeys);
  family.name = "OLMo 2";
  family.types = "olmo2";
  return family;
}

Family gguf_granite() {
  Family family =
      permuted(in_gguf("granite", "embedding_scale|attention.scale|residual_scale|logit_scale|rope.scaling.finetuned"));
  family.needs[2] = "logit_scale";
  family.divides_logits = true;
  return family;
}

/// Its projection is fused in config.json's files only.
Family gguf_internlm2() {
  Family family = permuted(in_gguf("internlm2"));
  family.encoder.self.query = kStack.self.query;
  return family;
}

/// The larger ones have a norm for each branch.
Family gguf_falcon() {
  Family family = in_gguf("falcon");
  family.encoder.self.norm = "attn_norm_2|attn_norm";
  family.encoder.feed_forward.parallel_norm = "attn_norm";
  return family;
}

/// The feed-forward's norm has the name that others give to one of attention's output.
Family gguf_seed_oss() {
  Family family = in_gguf("seed_oss");
  family.encoder.feed_forward.norm = "post_attention_norm";
  return family;
}

/// An encoder with or without its decoder.
Family gguf_t5() {
  constexpr AttentionNames kSelf{
      .query = "attn_q", .key = "attn_k", .value = "attn_v", .output = "attn_o", .norm = "attn_norm"};
  constexpr AttentionNames kCross{.query = "cross_attn_q",
                                  .key = "cross_attn_k",
                                  .value = "cross_attn_v",
                                  .output = "cross_attn_o",
                                  .norm = "cross_attn_norm"};
  Family family = in_gguf("t5", "decoder_block_count|feed_forward_proj|attention.relative_buckets_count");
  family.types = "t5|t5encoder";
  family.keys.decoder.layers = "decoder_block_count|block_count";
  family.needs[2] = "attention.relative_buckets_count";
  family.ignored = "dec.blk.*.cross_attn_rel_b.weight";
  family.finds_parts = false;
  family.encoder = {.table = kStack.table,
                    .layer = "enc.blk.{}.",
                    .self = kSelf,
                    .feed_forward = {.in = "ffn_up", .out = "ffn_down", .gate = "ffn_gate", .norm = "ffn_norm"},
                    .final_norm = "enc.output_norm",
                    .position_bias = "enc.blk.0.attn_rel_b"};
  family.decoder = family.encoder;
  family.decoder.layer = "dec.blk.{}.";
  family.decoder.cross = kCross;
  family.decoder.final_norm = "dec.output_norm";
  family.decoder.position_bias = "dec.blk.0.attn_rel_b";
  return family;
}

}  // namespace

std::span<const Family> gguf_families() {
  static const std::array kFamilies{
      gguf_llama(),
      in_gguf("qwen2"),
      in_gguf("qwen3"),
      in_gguf("phi2", "", "{}", "phi"),
      in_gguf("phi3", "attention.sliding_window"),
      in_gguf("gemma"),
      in_gguf("gemma2", "query_pre_attn_scalar|attention.sliding_window|attn_logit_softcapping|final_logit_softcapping",
              R"({"attention.sliding_window": 4096, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0})"),
      in_gguf("gemma3", kGemmaKeys),
      in_gguf("gemma-embedding", kGemmaKeys, R"({"use_bidirectional_attention": true})", "gemma3_text"),
      permuted(in_gguf("olmo", "attention.clamp_kqv")),
      gguf_olmo2(),
      in_gguf("starcoder", "", "{}", "gpt_bigcode"),
      experts_in_gguf("qwen2moe", "qwen2_moe", false),
      experts_in_gguf("qwen3moe", "qwen3_moe", true),
      experts_in_gguf("olmoe", "olmoe", false),
      in_gguf("starcoder2"),
      in_gguf("gpt2"),
      needing("use_parallel_residual", in_gguf("gptneox", "use_parallel_residual", "{}", "gpt_neox")),
      in_gguf("bloom"),
      in_gguf("mpt", "attention.clamp_kqv|attention.max_alibi_bias", R"({"attention.max_alibi_bias": 0.0})"),
      gguf_falcon(),
      in_gguf("stablelm"),
      gguf_granite(),
      needing("logit_scale", in_gguf("command-r", "logit_scale", "{}", "cohere")),
      needing("logit_scale|attention.sliding_window", in_gguf("cohere2", kCohereKeys)),
      in_gguf("exaone4", kWindowKeys),
      in_gguf("chatglm", "", "{}", "glm"),
      in_gguf("glm4", "rope.dimension_sections"),
      gguf_internlm2(),
      in_gguf("nemotron"),
      in_gguf("ernie4_5"),
      gguf_seed_oss(),
      permuted(in_gguf("smollm3")),
      in_gguf("bert", "type_vocab_size"),
      in_gguf("nomic-bert", "type_vocab_size|attention.layer_norm_epsilon", "{}", "nomic_bert"),
      in_gguf("modern-bert", "attention.sliding_window|sliding_window_pattern|rope.freq_base_swa", "{}", "modernbert"),
      gguf_t5()};
  return kFamilies;
}

}  // namespace headlight::model
