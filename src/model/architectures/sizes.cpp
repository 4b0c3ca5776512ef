#include "model/architectures/sizes.h"

#include <array>
#include <cmath>

#include "core/error.h"
#include "model/architectures/families.h"
#include "model/network.h"
#include "model/stored_tensor.h"

namespace headlight::model {
namespace {

constexpr std::uint32_t kMaxLayers = 1024;
constexpr std::uint32_t kMaxFeedForward = 1u << 18;
constexpr double kMaxCap = 1e6;
constexpr Names kKeyHeads = "num_key_value_heads|num_kv_heads|attention.head_count_kv";
constexpr Names kWindow = "sliding_window|window_size|attention.sliding_window|local_attention|attention_window";

Activation parse_activation(const Settings& settings, Names keys, std::string_view name, const Family& family) {
  constexpr std::array<std::pair<std::string_view, Activation>, 15> kNames{{
      {"relu", Activation::Relu},
      {"relu2", Activation::Relu2},
      {"gelu", Activation::Gelu},
      {"gelu_python", Activation::Gelu},
      {"gelu_new", Activation::GeluTanh},
      {"gelu_fast", Activation::GeluTanh},
      {"gelu_accurate", Activation::GeluTanh},
      {"gelu_pytorch_tanh", Activation::GeluTanh},
      {"gelu_python_tanh", Activation::GeluTanh},
      {"silu", Activation::Silu},
      {"swish", Activation::Silu},
      {"swiglu", Activation::Silu},
      {"quick_gelu", Activation::QuickGelu},
      {"linear", Activation::None},
      {"none", Activation::None},
  }};
  if (name == "gelu" && family.is_gelu_tanh) return Activation::GeluTanh;
  for (const auto& [known, activation] : kNames) {
    if (name == known) return activation;
  }
  settings.refuse_network(keys,
                          "relu, relu2, gelu, gelu_new, gelu_pytorch_tanh, quick_gelu, silu or one of their other names");
}

/// T5 names activation and gate together: "gated-gelu".
void read_feed_forward(const Settings& settings, const Family& family, Sizes& sizes) {
  constexpr std::string_view kGated = "gated-";
  Names keys = family.keys.activation;
  std::string name = settings.text(keys, family.activation);
  sizes.is_gated = family.is_gated;
  if (family.positions == Positions::Buckets) {
    keys = "feed_forward_proj";
    name = settings.text(keys, "relu");
    sizes.is_gated = name.starts_with(kGated);
    if (sizes.is_gated) name = name.substr(kGated.size()) == "gelu" ? "gelu_new" : name.substr(kGated.size());
    // What transformers derives from that name it also writes into files, and reads back.
    sizes.is_gated = settings.flag("is_gated_act", sizes.is_gated);
    if (settings.has("dense_act_fn")) keys = "dense_act_fn";
    name = settings.text("dense_act_fn", name);
  }
  sizes.activation = parse_activation(settings, keys, name, family);
  if (family.head_activation == "=") {
    sizes.head_activation = sizes.activation;
  } else if (!family.head_activation.empty()) {
    if (!family.head_activation_key.empty()) keys = family.head_activation_key;
    sizes.head_activation =
        parse_activation(settings, keys, settings.text(family.head_activation_key, family.head_activation), family);
  }
}

bool is_bidirectional(const Settings& settings, const Family& family) {
  return family.is_bidirectional_optional && settings.flag("use_bidirectional_attention", false);
}

/// Falcon's newer layout has num_kv_heads; GPT-BigCode and Falcon's older one share one KV head or have as many as heads.
bool is_multi_query(const Settings& settings, const Family& family) {
  return reads(family, "multi_query") && !settings.flag("new_decoder_architecture", false) &&
         settings.flag("multi_query", true);
}

StackSizes read_stack(const Settings& settings, const Family& family, const StackKeys& keys, std::uint32_t d_model) {
  StackSizes sizes;
  sizes.layers = settings.count(keys.layers, kMaxLayers);
  sizes.heads = settings.count(keys.heads, kMaxModelHeads);
  sizes.kv_heads = is_multi_query(settings, family) ? 1 : settings.count(kKeyHeads, sizes.heads, kMaxModelHeads);
  if (sizes.heads % sizes.kv_heads != 0) {
    settings.refuse(kKeyHeads, fmt::format("a divisor of the {} heads", sizes.heads));
  }
  sizes.d_k = settings.count(family.keys.head_size, family.head_size, kMaxModelWidth);
  if (sizes.d_k == 0) {
    if (d_model % sizes.heads != 0) settings.refuse(keys.heads, fmt::format("a divisor of the width {}", d_model));
    sizes.d_k = d_model / sizes.heads;
  }
  sizes.d_ff = settings.count(keys.d_ff, family.d_ff_factor * d_model, kMaxFeedForward);
  return sizes;
}

void read_widths(const Settings& settings, const Family& family, Sizes& sizes) {
  sizes.d_model = settings.count(family.keys.d_model, kMaxModelWidth);
  sizes.d_embedding = settings.count("embedding_size|word_embed_proj_dim", sizes.d_model, kMaxModelWidth);
  if (family.encoder.projection.empty() && sizes.d_embedding != sizes.d_model)
    settings.refuse_network("embedding_size", fmt::format("{}, the width of the layers", sizes.d_model));
  sizes.encoder = read_stack(settings, family, family.keys.encoder, sizes.d_model);
  if (sizes.kind == StackKind::EncoderDecoder)
    sizes.decoder = read_stack(settings, family, family.keys.decoder, sizes.d_model);
  sizes.vocabulary = settings.count("vocab_size", kMaxVocabulary);
  sizes.target_vocabulary = settings.count("decoder_vocab_size", sizes.vocabulary, kMaxVocabulary);
}

/// The window of each layer: one number, or a list of them.
std::vector<std::uint32_t> window_sizes(const Settings& settings, const Family& family, std::uint32_t layers) {
  if (settings.is_null(kWindow)) return std::vector<std::uint32_t>(layers, 0);
  std::vector<std::uint32_t> sizes;
  if (settings.is_list(kWindow)) {
    for (const double size : settings.numbers(kWindow, 0.0, kMaxLength)) sizes.push_back(static_cast<std::uint32_t>(size));
    if (sizes.size() != layers) settings.refuse(kWindow, fmt::format("one number or a list of {}", layers));
  } else {
    sizes.assign(layers, settings.count(kWindow, family.window, kMaxLength, 0));
  }
  for (std::uint32_t& size : sizes) size /= family.is_window_of_both_sides ? 2 : 1;
  return sizes;
}

/// The layers' types; GPT-Neo has them as [[["global", "local"], 12]]: these two, twelve times.
std::vector<std::string> layer_types(const Settings& settings, const Family& family) {
  constexpr Names kRuns = "attention_types";
  if (!reads(family, kRuns) || settings.has("attention_layers")) return settings.texts("layer_types|attention_layers");
  std::vector<std::string> types;
  for (const auto& [names, times] : settings.runs(kRuns, kMaxLayers)) {
    for (std::uint32_t i = 0; i < times && types.size() <= kMaxLayers; ++i) {
      types.insert(types.end(), names.begin(), names.end());
    }
  }
  const std::uint32_t layers = settings.count(family.keys.encoder.layers, kMaxLayers);
  if (types.size() != layers) settings.refuse(kRuns, fmt::format("types of {} layers", layers));
  return types;
}

/// The layers with the sliding window: by name, by a period, from some layer on or where there is no RoPE.
void read_windows(const Settings& settings, const Family& family, Sizes& sizes) {
  const std::uint32_t layers = sizes.encoder.layers;
  sizes.windows.assign(layers, 0);
  std::vector<std::uint32_t> sides = window_sizes(settings, family, layers);
  const std::vector<std::string> types = layer_types(settings, family);
  const bool is_used = settings.flag("use_sliding_window", !family.is_window_optional);
  if (!is_used && (types.empty() || !family.is_window_of_plain_layers)) sides.assign(layers, 0);
  if (!types.empty() && types.size() != layers) settings.refuse("layer_types", fmt::format("a list of {} texts", layers));
  const std::uint32_t period =
      types.empty() ? settings.count("sliding_window_pattern|global_attn_every_n_layers", family.window_period, kMaxLayers)
                    : 0;
  const std::uint32_t limit =
      reads(family, "max_window_layers") ? settings.count("max_window_layers", 28, kMaxLayers, 0) : 0;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    bool has_window = (layer >= limit) != family.ends_windows &&
                      (period == 0 || (layer + (family.begins_without_window ? 0 : 1)) % period != 0);
    if (family.is_window_of_plain_layers) has_window = !sizes.rotates[layer];
    if (!types.empty()) {
      has_window = types[layer] == "sliding_attention" || types[layer] == "local";
      if (!has_window && types[layer] != "full_attention" && types[layer] != "global") {
        throw Error("config.json: layer {} is of type '{}', but Headlight computes full_attention and sliding_attention",
                    layer, printable(types[layer]));
      }
    }
    if (family.rotates_windows_only && sides[layer] > 0) sizes.rotates[layer] = has_window;
    // In a bidirectional decoder, transformers includes the distance itself: |i − j| ≤ window.
    const bool is_inclusive = !sizes.is_causal || family.is_window_of_both_sides;
    const std::uint32_t side = is_bidirectional(settings, family) ? sides[layer] / 2 : sides[layer];  // Gemma 3's: of both
    if (has_window && sides[layer] > 0) sizes.windows[layer] = side + (is_inclusive ? 1 : 0);
  }
}

/// SmolLM 3 has no RoPE in every n-th layer.
void read_rotating_layers(const Settings& settings, const Family& family, Sizes& sizes) {
  const std::uint32_t layers = sizes.encoder.layers;
  sizes.rotates.assign(layers, sizes.positions == Positions::Rotary);
  sizes.has_local_rotary = family.local_rope_theta > 0.0;
  const std::vector<double> given = settings.numbers("no_rope_layers", 0.0, 1.0);
  if (!given.empty() && given.size() != layers)
    settings.refuse("no_rope_layers", fmt::format("a list of {} numbers", layers));
  const std::uint32_t interval = settings.count("no_rope_layer_interval", family.plain_layer_period, kMaxLayers);
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    if (!given.empty()) {
      sizes.rotates[layer] = given[layer] > 0.0;
    } else if (interval > 0 && (layer + 1) % interval == 0) {
      sizes.rotates[layer] = false;
    }
  }
}

void read_scales(const Settings& settings, const Family& family, Sizes& sizes) {
  sizes.scales.assign(sizes.encoder.layers, {});
  const double scalar = settings.number("query_pre_attn_scalar", family.query_scalar, 0.0, 1e9);
  constexpr Names kMultiplier = "attention_multiplier|attn_config.softmax_scale|attention.scale";
  const bool is_scaled = family.scales_attention && settings.flag("scale_attn_weights", true);
  const bool has_multiplier = family.attention_multiplier > 0.0 || settings.has(kMultiplier);
  const bool falls = settings.flag("scale_attn_by_inverse_layer_idx", false);
  // DeBERTa's score is a sum of so many products.
  std::uint32_t terms = 1;
  for (const std::string& type : settings.texts("pos_att_type")) terms += type == "c2p" || type == "p2c" ? 1u : 0u;
  for (std::uint32_t layer = 0; layer < sizes.encoder.layers; ++layer) {
    double factor =
        is_scaled ? 1.0 / std::sqrt(family.query_scalar > 0.0 && scalar > 0.0 ? scalar : sizes.encoder.d_k) : 1.0;
    if (has_multiplier) factor = settings.number(kMultiplier, family.attention_multiplier, 0.0, 1e6);
    if (falls) factor /= layer + 1.0;
    factor /= std::sqrt(static_cast<double>(terms));
    if (!is_scaled && !falls) {
      sizes.scales[layer].kind = Scale::Kind::None;
    } else if (falls || terms > 1 || has_multiplier || family.query_scalar > 0.0) {
      sizes.scales[layer] = {.kind = Scale::Kind::Value, .value = static_cast<float>(factor)};
    }
  }
  sizes.clip = static_cast<float>(settings.number("clip_qkv|attn_config.clip_qkv|attention.clamp_kqv", 0.0, 0.0, kMaxCap));
  sizes.attention_softcap = static_cast<float>(settings.number("attn_logit_softcapping", 0.0, 0.0, kMaxCap));
  sizes.head_softcap = static_cast<float>(settings.number("final_logit_softcapping", 0.0, 0.0, kMaxCap));
}

/// Which layers have experts: all, every n-th, or all but some.
void read_experts(const Settings& settings, const Family& family, Sizes& sizes) {
  const Names count = family.keys.experts;
  const std::uint32_t layers = sizes.encoder.layers;
  sizes.has_experts.assign(layers, false);
  if (family.encoder.experts.router.empty()) return;
  ExpertSizes& experts = sizes.experts;
  experts.count =
      family.are_experts_optional ? settings.count(count, 0, kMaxExperts, 0) : settings.count(count, kMaxExperts);
  if (experts.count == 0) return;
  experts.per_token = settings.count("num_experts_per_tok|expert_used_count", std::min(experts.count, kMaxExpertsPerToken));
  experts.d_ff = settings.count("moe_intermediate_size|expert_feed_forward_length", sizes.encoder.d_ff, kMaxFeedForward);
  experts.shared_d_ff = settings.count("shared_expert_intermediate_size|expert_shared_feed_forward_length",
                                       sizes.encoder.d_ff, kMaxFeedForward);
  experts.gates_sum_to_one = settings.flag("norm_topk_prob", family.gates_sum_to_one);
  const std::uint32_t step = settings.count("decoder_sparse_step", 1, kMaxLayers);
  for (std::uint32_t layer = 0; layer < layers; ++layer) sizes.has_experts[layer] = (layer + 1) % step == 0;
  for (const double layer : settings.numbers("mlp_only_layers", 0.0, kMaxLayers)) {
    if (layer < layers) sizes.has_experts[static_cast<std::size_t>(layer)] = false;
  }
}

void read_switches(const Settings& settings, const Family& family, Sizes& sizes) {
  sizes.epsilon = static_cast<float>(settings.number(family.keys.epsilon, static_cast<double>(family.epsilon), 0.0, 1.0));
  sizes.is_parallel = settings.flag("use_parallel_residual|parallel_attn", family.is_parallel) ||
                      settings.flag("new_decoder_architecture", false);
  sizes.is_multi_query = is_multi_query(settings, family);
  sizes.has_head_norms = family.head_norms_key.empty() || settings.flag(family.head_norms_key, false);
  sizes.residual_scale = static_cast<float>(settings.number("residual_multiplier|residual_scale", 1.0, 0.0, 1e6));
  sizes.is_tied = settings.has("tie_word_embeddings") ? settings.flag("tie_word_embeddings", true) : family.is_tied;
  sizes.norm_position = settings.flag("do_layer_norm_before", true) ? family.norm_position : NormPosition::After;
  sizes.has_final_norm = sizes.norm_position == NormPosition::Before && !settings.flag("_remove_final_layer_norm", false);
  sizes.is_causal = sizes.kind == StackKind::EncoderDecoder ||
                    (sizes.kind == StackKind::Decoder ? settings.flag("is_causal|attention.causal", true)
                                                      : settings.flag("is_decoder", false));
  if (is_bidirectional(settings, family)) sizes.is_causal = false;
  sizes.biases = family.biases;
  if (!family.biases.attention_key.empty()) {
    sizes.biases.projections = settings.flag(family.biases.attention_key, family.biases.projections);
    sizes.biases.output = settings.flag(family.biases.attention_key, family.biases.output);
  }
  if (!family.biases.projections_key.empty()) {
    sizes.biases.projections = settings.flag(family.biases.projections_key, family.biases.projections);
  }
  if (!family.biases.output_key.empty()) {
    sizes.biases.output = settings.flag(family.biases.output_key, family.biases.output);
  }
  if (!family.biases.feed_forward_key.empty()) {
    sizes.biases.feed_forward = settings.flag(family.biases.feed_forward_key, family.biases.feed_forward);
  }
  if (!family.biases.norm_key.empty()) sizes.biases.norms = settings.flag(family.biases.norm_key, family.biases.norms);
  sizes.has_transform_bias = settings.flag("classifier_bias", !reads(family, "classifier_bias"));
  sizes.has_head_bias = settings.flag("decoder_bias", true);
  sizes.has_embedding_norm = settings.flag("emb_layer_norm_before", !reads(family, "emb_layer_norm_before"));
  if (settings.flag("scale_embedding", family.scales_embedding)) {
    sizes.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(sizes.d_model)));
  }
  constexpr Names kEmbeddingScale = "embedding_multiplier|embedding_scale";
  if (settings.has(kEmbeddingScale)) {
    sizes.embedding_scale = static_cast<float>(settings.number(kEmbeddingScale, 1.0, 0.0, 1e6));
  }
  const double logit_scale = settings.number("logit_scale", family.logit_scale, family.divides_logits ? 1e-6 : 0.0, 1e6);
  sizes.head_scale = static_cast<float>(
      family.divides_logits ? 1.0 / logit_scale : logit_scale / settings.number("logits_scaling", 1.0, 1e-6, 1e6));
  // Before release 5 of transformers T5 scaled its states wherever the head was tied.
  if (family.scales_head && settings.flag("scale_decoder_outputs", sizes.is_tied)) {
    sizes.head_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(sizes.d_model)));
  }
}

/// Options that select a network that Headlight doesn't compute.
void expect_known(const Settings& settings, const Family& family) {
  for (const Names keys : family.needs) {
    for_each_name(keys, [&](std::string_view key) {
      if (!key.empty() && !settings.has(key)) settings.refuse(key, "a number or a truth value");
    });
  }
  constexpr std::array<std::pair<std::string_view, bool>, 15> kFlags{{{"add_cross_attention", false},
                                                                      {"attn_config.alibi", true},
                                                                      {"attn_config.prefix_lm", false},
                                                                      {"attn_config.qk_ln", false},
                                                                      {"apply_residual_connection_post_layernorm", false},
                                                                      {"use_bidirectional_attention", false},
                                                                      {"layer_norm_elementwise_affine", true},
                                                                      {"is_folding_model", false},
                                                                      {"prenorm", false},
                                                                      {"qkv_proj_bias", false},
                                                                      {"mlp_fc1_bias", false},
                                                                      {"mlp_fc2_bias", false},
                                                                      {"use_rms_norm", false},
                                                                      {"rotary_emb_interleaved", false},
                                                                      {"rope.scaling.finetuned", true}}};
  for (const auto& [key, value] : kFlags) {
    if (family.is_bidirectional_optional && key == "use_bidirectional_attention") continue;
    if (settings.flag(key, value) != value) settings.refuse_network(key, value ? "true" : "false");
  }
  if (family.kind == StackKind::EncoderDecoder && !settings.flag("is_causal", true)) {
    settings.refuse_network("is_causal", "true");
  }
  for (const std::string_view key : {"pruned_heads", "per_layer_config"}) {
    if (settings.child(key) && !settings.child(key)->is_empty())
      settings.refuse_network(key, "empty, all layers of one size");
  }
  if (settings.number("conv_kernel_size", 0.0, 0.0, kMaxLength) > 0.0) settings.refuse_network("conv_kernel_size", "0");
  if (settings.number("rotary_emb_fraction", 1.0, 0.0, 1.0) != 1.0) settings.refuse_network("rotary_emb_fraction", "1");
  if (settings.text("attn_config.attn_type", "multihead_attention") != "multihead_attention") {
    settings.refuse_network("attn_config.attn_type", "multihead_attention");
  }
  // transformers has 8 whatever MPT's config says, its authors' code what it says.
  constexpr Names kLargestBias = "attn_config.alibi_bias_max|attention.max_alibi_bias";
  if (settings.number(kLargestBias, 8.0, 0.0, kMaxCap) != 8.0) settings.refuse_network(kLargestBias, "8");
  // Of a network for images: its text part is rotated in sections, and its rows have another order.
  constexpr Names kSections = "rope.dimension_sections";
  if (settings.has(kSections)) settings.refuse_network(kSections, "absent");
  if (settings.count("inner_group_num", 1, kMaxLayers) != 1) settings.refuse_network("inner_group_num", "1");
  if (const std::optional<Settings> mlx = settings.child("quantization"); mlx && mlx->has("group_size")) {
    throw Error("config.json: the weights are quantised by MLX ({} bits): load the original model, or a GGUF file of it",
                mlx->count("bits", 0, 64));
  }
  if (const std::optional<Settings> quantization = settings.child("quantization_config")) {
    throw Error("config.json: the weights are quantised ({}): load the original model, or a GGUF file of it",
                printable(quantization->text("quant_method", "unnamed")));
  }
}

}  // namespace

Sizes read_sizes(const Settings& settings, const Family& family, StackKind kind) {
  expect_known(settings, family);
  Sizes sizes;
  sizes.kind = kind;
  read_widths(settings, family, sizes);
  read_positions(settings, family, sizes);
  read_feed_forward(settings, family, sizes);
  read_experts(settings, family, sizes);
  read_switches(settings, family, sizes);
  read_rotating_layers(settings, family, sizes);
  read_windows(settings, family, sizes);
  read_scales(settings, family, sizes);
  sizes.groups = settings.count("num_hidden_groups", 0, kMaxLayers);
  if (sizes.groups > sizes.encoder.layers || (sizes.groups > 0 && sizes.encoder.layers % sizes.groups != 0)) {
    settings.refuse("num_hidden_groups", fmt::format("a divisor of the {} layers", sizes.encoder.layers));
  }
  return sizes;
}

}  // namespace headlight::model
