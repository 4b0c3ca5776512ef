#include <array>

#include "model/architectures/families.h"

namespace headlight::model {
namespace {

constexpr Names kGgufSizes =
    "block_count|embedding_length|feed_forward_length|context_length|attention.head_count|attention.head_count_kv|"
    "attention.key_length";
constexpr Names kGgufRotaryKeys = "rope.dimension_count|rope.freq_base|rope_scaling";

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
                                             .inside_norm = "post_ffw_norm"},
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
  keep(names.self.fused, own.self.fused);
  keep(names.self.query_norm, own.self.query_norm);
  keep(names.self.key_norm, own.self.key_norm);
  keep(names.self.norm, own.self.norm);
  keep(names.self.inside_norm, own.self.inside_norm);
  keep(names.feed_forward.gate_and_in, own.feed_forward.gate_and_in);
  keep(names.feed_forward.norm, own.feed_forward.norm);
  keep(names.feed_forward.inside_norm, own.feed_forward.inside_norm);
  if (own.experts.router.empty()) names.experts = {};
  if (own.experts.shared.in.empty()) names.experts.shared = {};
  keep(names.final_norm, own.final_norm);
  if (family.norm_position == NormPosition::After) {
    names.self.norm = "attn_output_norm";
    names.feed_forward.norm = "layer_output_norm";
  }
  return names;
}

/// A family of config.json under the names and keys of GGUF files. They name every size and window, and hold linear weights
/// as [out, in] and Gemma's norms with their 1.
/// `model_type`: of config.json, where it has another name there.
Family in_gguf(std::string_view type, Names reads = "", std::string_view defaults = "{}", std::string_view model_type = "") {
  Family family = *find_family(model_type.empty() ? type : model_type);
  family.types = type;
  family.prefixes = "";
  const bool is_rms = family.norm == Norm::Kind::RootMeanSquare;
  family.reads = {kGgufSizes, is_rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
                  family.positions == Positions::Rotary ? kGgufRotaryKeys : "", reads};
  family.encoder = stack_names(family);
  family.head = {.linear = "output"};
  family.ignored = "rope_freqs.weight|rope_factors_long.weight|rope_factors_short.weight";
  family.defaults = defaults;
  family.norm_offset = 0.0f;
  family.is_transposed = false;
  family.head_size = 0;
  family.partial_rotary = 0.0;
  family.is_yarn_longrope = false;
  if (family.window_period == 0) family.window = 0;
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

/// Rows of queries and keys are rearranged so that RoPE's pairs are adjacent. Mistral, SmolLM and Mixtral are "llama" too.
Family gguf_llama() {
  Family family = in_gguf("llama", kGgufExpertKeys);
  family.encoder.experts = kStack.experts;
  family.encoder.experts.shared = {};
  family.gates_sum_to_one = family.are_experts_optional = true;
  family.is_rotary_interleaved = true;
  return family;
}

/// OLMo 3 is the same with a window in three of four layers.
Family gguf_olmo2() {
  Family family = in_gguf("olmo3", "attention.sliding_window");
  family.name = "OLMo 2";
  family.types = "olmo2";
  family.window = 0;
  return family;
}

}  // namespace

std::span<const Family> gguf_families() {
  static const std::array kFamilies{
      gguf_llama(),
      in_gguf("qwen2"),
      in_gguf("qwen3"),
      in_gguf("phi3", "attention.sliding_window"),
      in_gguf("gemma"),
      in_gguf("gemma2", "query_pre_attn_scalar|attention.sliding_window|attn_logit_softcapping|final_logit_softcapping",
              R"({"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0})"),
      in_gguf("gemma3", "query_pre_attn_scalar|attention.sliding_window|final_logit_softcapping|rope.freq_base_swa"),
      gguf_olmo2(),
      experts_in_gguf("qwen2moe", "qwen2_moe", false),
      experts_in_gguf("qwen3moe", "qwen3_moe", true),
      experts_in_gguf("olmoe", "olmoe", false),
      in_gguf("starcoder2"),
      in_gguf("gpt2"),
      in_gguf("bert", "type_vocab_size"),
      in_gguf("nomic-bert", "type_vocab_size|attention.layer_norm_epsilon", "{}", "nomic_bert")};
  return kFamilies;
}

}  // namespace headlight::model
