#include <array>

#include "model/architectures/families.h"
#include "model/architectures/llama_kin.h"

namespace headlight::model {
namespace {

/// Before release 5 of transformers, and in files that it writes, each expert's weights are tensors of their own.
constexpr ExpertNames kExperts{.router = "mlp.gate",
                               .in = "mlp.experts.{}.up_proj",
                               .out = "mlp.experts.down_proj|mlp.experts.{}.down_proj",
                               .gate = "mlp.experts.{}.gate_proj",
                               .gate_and_in = "mlp.experts.gate_up_proj"};

constexpr Family with_experts(Family family, const ExpertNames& names, Names keys) {
  family.encoder.experts = names;
  family.reads[3] = keys;
  return family;
}

constexpr Family mixtral() {
  Family family = with_experts(llama_kin("Mixtral", "mixtral"),
                               {.router = "block_sparse_moe.gate|mlp.gate",
                                .in = "block_sparse_moe.experts.{}.w3",
                                .out = "mlp.experts.down_proj|block_sparse_moe.experts.{}.w2",
                                .gate = "block_sparse_moe.experts.{}.w1",
                                .gate_and_in = "mlp.experts.gate_up_proj"},
                               "sliding_window|num_experts|num_local_experts|num_experts_per_tok");
  family.defaults = R"({"num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2})";
  family.epsilon = 1e-5f;
  family.rope_theta = 1'000'000.0;
  family.gates_sum_to_one = true;
  family.max_length = 131'072;
  return family;
}

/// Some layers may be dense.
constexpr Family qwen2_moe() {
  Family family = with_experts(llama_kin("Qwen2 MoE", "qwen2_moe"), kExperts,
                               "qkv_bias|use_sliding_window|sliding_window|max_window_layers|layer_types|num_experts|num_"
                               "experts_per_tok|moe_intermediate_size|"
                               "shared_expert_intermediate_size|norm_topk_prob|decoder_sparse_step|mlp_only_layers");
  family.encoder.experts.shared = {
      .in = "mlp.shared_expert.up_proj", .out = "mlp.shared_expert.down_proj", .gate = "mlp.shared_expert.gate_proj"};
  family.encoder.experts.shared_gate = "mlp.shared_expert_gate";
  family.defaults = R"({"num_key_value_heads": 16, "num_experts": 60, "num_experts_per_tok": 4,
                        "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632})";
  family.biases.projections = true;
  family.biases.projections_key = "qkv_bias";
  family.window = 4096;
  family.window_period = 2;
  family.ends_windows = true;
  family.is_window_optional = true;
  family.are_experts_optional = true;
  family.max_length = 32'768;
  return family;
}

constexpr Family qwen3_moe() {
  Family family =
      with_experts(with_head_norms(llama_kin("Qwen3 MoE", "qwen3_moe")), kExperts,
                   "attention_bias|use_sliding_window|sliding_window|num_experts|num_local_experts|num_experts_per_tok|"
                   "moe_intermediate_size|norm_topk_prob|decoder_sparse_step|mlp_only_layers");
  family.defaults = R"({"num_key_value_heads": 4, "num_local_experts": 128, "num_experts_per_tok": 8,
                        "moe_intermediate_size": 768})";
  family.biases.attention_key = "attention_bias";
  family.window = 4096;
  family.is_window_optional = true;
  family.are_experts_optional = true;
  family.max_length = 32'768;
  return family;
}

constexpr Family olmoe() {
  Family family = with_experts(with_head_norms(llama_kin("OLMoE", "olmoe")), kExperts,
                               "attention_bias|clip_qkv|num_experts|num_local_experts|num_experts_per_tok|norm_topk_prob");
  family.defaults = R"({"num_experts": 64, "num_experts_per_tok": 8})";
  family.biases.attention_key = "attention_bias";
  family.epsilon = 1e-5f;
  family.head_norms = HeadNorms::Whole;
  family.keys.experts = "num_local_experts|num_experts|expert_count";
  family.max_length = 4'096;
  return family;
}

/// Granite's four multipliers.
constexpr Family granitemoe() {
  Family family = with_experts(llama_kin("Granite MoE", "granitemoe"),
                               {.router = "block_sparse_moe.router|block_sparse_moe.router.layer",
                                .out = "block_sparse_moe.experts.down_proj|block_sparse_moe.output_linear",
                                .gate_and_in = "block_sparse_moe.experts.gate_up_proj|block_sparse_moe.input_linear"},
                               "attention_bias|embedding_multiplier|attention_multiplier|residual_multiplier|"
                               "logits_scaling|num_experts|num_local_experts|num_experts_per_tok");
  family.defaults = R"({"num_local_experts": 8, "num_experts_per_tok": 2})";
  family.biases.attention_key = "attention_bias";
  family.attention_multiplier = 1.0;
  family.gates_sum_to_one = true;
  return family;
}

constexpr std::array kExpertFamilies{mixtral(), qwen2_moe(), qwen3_moe(), olmoe(), granitemoe()};

}  // namespace

std::span<const Family> expert_families() { return kExpertFamilies; }

}  // namespace headlight::model
