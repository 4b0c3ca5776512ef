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
constexpr std::uint32_t kMaxVocabulary = 1u << 22;
constexpr std::uint32_t kMaxLength = 1u << 26;
constexpr std::uint32_t kMaxSinusoid = 1u << 16;  // these rows are computed, not stored
constexpr std::uint32_t kMaxFeedForward = 1u << 18;
constexpr std::uint32_t kMaxTypes = 1024;
constexpr double kMaxCap = 1e6;
constexpr Names kKeyHeads = "num_key_value_heads|num_kv_heads|attention.head_count_kv";
constexpr Names kWindow = "sliding_window|window_size|attention.sliding_window";

Activation parse_activation(const Settings& settings, Names keys, std::string_view name, const Family& family) {
  constexpr std::array<std::pair<std::string_view, Activation>, 13> kNames{{
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
      {"linear", Activation::None},
      {"none", Activation::None},
  }};
  if (name == "gelu" && family.is_gelu_tanh) return Activation::GeluTanh;
  for (const auto& [known, activation] : kNames) {
    if (name == known) return activation;
  }
  settings.refuse_network(keys, "relu, relu2, gelu, gelu_new, gelu_pytorch_tanh, silu or one of their other names");
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
    sizes.head_activation = parse_activation(settings, keys, family.head_activation, family);
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
  sizes.encoder = read_stack(settings, family, family.keys.encoder, sizes.d_model);
  sizes.decoder = family.kind == StackKind::EncoderDecoder ? read_stack(settings, family, family.keys.decoder, sizes.d_model)
                                                           : StackSizes{};
  sizes.vocabulary = settings.count("vocab_size", kMaxVocabulary);
  sizes.target_vocabulary = settings.count("decoder_vocab_size", sizes.vocabulary, kMaxVocabulary);
}

void read_positions(const Settings& settings, const Family& family, Sizes& sizes) {
  const std::uint32_t fallback = family.positions == Positions::Rotary ? 2048 : 512;
  const bool is_limit = family.positions == Positions::Learned || family.positions == Positions::Sinusoidal;
  const std::uint32_t largest = family.positions == Positions::Sinusoidal ? kMaxSinusoid : kMaxLength;
  sizes.max_length =
      is_limit ? settings.count(family.keys.max_length, largest) : settings.count(family.keys.max_length, fallback, largest);
  sizes.position_offset = family.position_offset;
  if (family.counts_offset) {
    sizes.position_offset = settings.count("pad_token_id", family.position_offset - 1, kMaxVocabulary, 0) + 1;
    if (sizes.max_length <= sizes.position_offset) {
      settings.refuse(family.keys.max_length, fmt::format("more than {}", sizes.position_offset));
    }
    sizes.max_length -= sizes.position_offset;
  }
  if (!family.encoder.types.empty()) sizes.types = settings.count("type_vocab_size", 2, kMaxTypes);
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
  std::uint32_t window = settings.is_null(kWindow) ? 0 : settings.count(kWindow, family.window, kMaxLength, 0);
  const std::vector<std::string> types = layer_types(settings, family);
  const bool is_used = settings.flag("use_sliding_window", !family.is_window_optional);
  if (!is_used && (types.empty() || !family.is_window_of_plain_layers)) window = 0;
  if (!types.empty() && types.size() != layers) settings.refuse("layer_types", fmt::format("a list of {} texts", layers));
  const std::uint32_t period =
      types.empty() ? settings.count("sliding_window_pattern", family.window_period, kMaxLayers) : 0;
  const std::uint32_t first =
      reads(family, "max_window_layers") ? settings.count("max_window_layers", 28, kMaxLayers, 0) : 0;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    bool has_window = layer >= first && (period == 0 || (layer + 1) % period != 0);
    if (family.is_window_of_plain_layers) has_window = !sizes.rotates[layer];
    if (!types.empty()) {
      has_window = types[layer] == "sliding_attention" || types[layer] == "local";
      if (!has_window && types[layer] != "full_attention" && types[layer] != "global") {
        throw Error("config.json: layer {} is of type '{}', but Headlight computes full_attention and sliding_attention",
                    layer, printable(types[layer]));
      }
    }
    if (family.rotates_windows_only && window > 0) sizes.rotates[layer] = has_window;
    // In a bidirectional decoder, transformers includes the distance itself: |i − j| ≤ window.
    // Gemma 3's is the sum of both sides.
    if (has_window && window > 0) {
      sizes.windows[layer] = sizes.is_causal ? window : is_bidirectional(settings, family) ? window / 2 + 1 : window + 1;
    }
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
  constexpr Names kMultiplier = "attention_multiplier|attn_config.softmax_scale";
  const bool is_scaled = family.scales_attention && settings.flag("scale_attn_weights", true);
  const bool has_multiplier = family.attention_multiplier > 0.0 || settings.has(kMultiplier);
  const bool falls = settings.flag("scale_attn_by_inverse_layer_idx", false);
  for (std::uint32_t layer = 0; layer < sizes.encoder.layers; ++layer) {
    double factor =
        is_scaled ? 1.0 / std::sqrt(family.query_scalar > 0.0 && scalar > 0.0 ? scalar : sizes.encoder.d_k) : 1.0;
    if (has_multiplier) factor = settings.number(kMultiplier, family.attention_multiplier, 0.0, 1e6);
    if (falls) factor /= layer + 1.0;
    if (!is_scaled && !falls) {
      sizes.scales[layer].kind = Scale::Kind::None;
    } else if (falls || has_multiplier || family.query_scalar > 0.0) {
      sizes.scales[layer] = {.kind = Scale::Kind::Value, .value = static_cast<float>(factor)};
    }
  }
  sizes.clip = static_cast<float>(settings.number("clip_qkv|attn_config.clip_qkv", 0.0, 0.0, kMaxCap));
  sizes.attention_softcap = static_cast<float>(settings.number("attn_logit_softcapping", 0.0, 0.0, kMaxCap));
  sizes.head_softcap = static_cast<float>(settings.number("final_logit_softcapping", 0.0, 0.0, kMaxCap));
}

void read_switches(const Settings& settings, const Family& family, Sizes& sizes) {
  sizes.epsilon = static_cast<float>(settings.number(family.keys.epsilon, static_cast<double>(family.epsilon), 0.0, 1.0));
  sizes.is_parallel = settings.flag("use_parallel_residual|parallel_attn", family.is_parallel) ||
                      settings.flag("new_decoder_architecture", false);
  sizes.is_multi_query = is_multi_query(settings, family);
  sizes.has_head_norms = family.head_norms_key.empty() || settings.flag(family.head_norms_key, false);
  sizes.residual_scale = static_cast<float>(settings.number("residual_multiplier", 1.0, 0.0, 1e6));
  sizes.is_tied = settings.flag("tie_word_embeddings", family.is_tied);
  sizes.norm_position = settings.flag("do_layer_norm_before", true) ? family.norm_position : NormPosition::After;
  sizes.has_final_norm = sizes.norm_position == NormPosition::Before && !settings.flag("_remove_final_layer_norm", false);
  sizes.is_causal =
      family.kind == StackKind::EncoderDecoder ||
      (family.kind == StackKind::Decoder ? settings.flag("is_causal", true) : settings.flag("is_decoder", false));
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
  if (settings.flag("scale_embedding", family.scales_embedding)) {
    sizes.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(sizes.d_model)));
  }
  if (reads(family, "embedding_multiplier")) {
    sizes.embedding_scale = static_cast<float>(settings.number("embedding_multiplier", 1.0, 0.0, 1e6));
  }
  sizes.head_scale = static_cast<float>(settings.number("logit_scale", family.logit_scale, 0.0, 1e6) /
                                        settings.number("logits_scaling", 1.0, 1e-6, 1e6));
  // Before release 5 of transformers T5 scaled its states wherever the head was tied.
  if (family.scales_head && settings.flag("scale_decoder_outputs", sizes.is_tied)) {
    sizes.head_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(sizes.d_model)));
  }
}

/// Options that select a network that Headlight doesn't compute.
void expect_known(const Settings& settings, const Family& family) {
  constexpr std::array<std::pair<std::string_view, bool>, 7> kFlags{{{"add_cross_attention", false},
                                                                     {"attn_config.alibi", true},
                                                                     {"attn_config.prefix_lm", false},
                                                                     {"attn_config.qk_ln", false},
                                                                     {"apply_residual_connection_post_layernorm", false},
                                                                     {"use_bidirectional_attention", false},
                                                                     {"layer_norm_elementwise_affine", true}}};
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
  if (settings.text("position_embedding_type", "absolute") != "absolute") {
    settings.refuse_network("position_embedding_type", "absolute");
  }
  if (settings.text("attn_config.attn_type", "multihead_attention") != "multihead_attention") {
    settings.refuse_network("attn_config.attn_type", "multihead_attention");
  }
  // transformers has 8 whatever MPT's config says, its authors' code what it says.
  if (settings.number("attn_config.alibi_bias_max", 8.0, 0.0, kMaxCap) != 8.0) {
    settings.refuse_network("attn_config.alibi_bias_max", "8");
  }
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

Sizes read_sizes(const Settings& settings, const Family& family) {
  expect_known(settings, family);
  Sizes sizes;
  sizes.positions = settings.flag("alibi", false) ? Positions::Alibi : family.positions;
  read_widths(settings, family, sizes);
  read_positions(settings, family, sizes);
  read_feed_forward(settings, family, sizes);
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
