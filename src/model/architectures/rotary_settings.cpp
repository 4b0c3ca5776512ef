#include "model/architectures/sizes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace headlight::model {
namespace {

constexpr double kLargest = 1e12;

/// The inputs of all kinds of RoPE scaling.
struct Source {
  const Settings& top;
  std::optional<Settings> scaling;
  std::uint32_t max_length = 0;
  double theta = 0.0;

  double factor() const {
    if (!scaling->has("factor")) scaling->refuse("factor", "a number of at least 1");
    return scaling->number("factor", 1.0, 1.0, kLargest);
  }
  /// The trained length before scaling: more than 1, because some kinds divide by its logarithm.
  std::uint32_t original_length() const {
    constexpr Names kKey = "original_max_position_embeddings";
    constexpr std::uint32_t kLongest = 1u << 30;
    const Settings& settings = top.has(kKey) ? top : *scaling;
    return settings.count(kKey, std::max(max_length, 2u), kLongest, 2);
  }
};

/// theta^(−2i / dimensions)
std::vector<double> plain_frequencies(double theta, std::uint32_t dimensions) {
  std::vector<double> frequencies;
  for (std::uint32_t i = 0; i < dimensions; i += 2)
    frequencies.push_back(std::pow(theta, -static_cast<double>(i) / dimensions));
  return frequencies;
}

/// Wavelengths above a limit are scaled by `factor`, short ones are kept, with a ramp in between (Llama 3.1).
void scale_llama3(const Source& source, Rotary& rotary) {
  const double factor = source.factor();
  const double low = source.scaling->number("low_freq_factor", 1.0, 1e-6, kLargest);
  const double high = source.scaling->number("high_freq_factor", 4.0, 1e-6, kLargest);
  const double length = source.original_length();
  if (high <= low) source.scaling->refuse("high_freq_factor", fmt::format("more than low_freq_factor, {}", low));
  for (double& frequency : rotary.inverse_frequencies) {
    const double rotations = length * frequency / (2.0 * std::numbers::pi);
    const double kept = std::clamp((rotations - low) / (high - low), 0.0, 1.0);
    frequency = (1.0 - kept) * frequency / factor + kept * frequency;
  }
}

/// YaRN (Peng et al. 2023): the ramp runs over the pairs' indices.
void scale_yarn(const Source& source, Rotary& rotary) {
  const Settings& scaling = *source.scaling;
  const double length = source.original_length();
  const double factor = scaling.has("factor") ? source.factor() : std::max(1.0, source.max_length / length);
  const double dimensions = rotary.dimensions;
  const auto pair_of_rotations = [&](double rotations) {
    return dimensions * std::log(length / (rotations * 2.0 * std::numbers::pi)) / (2.0 * std::log(source.theta));
  };
  double low = pair_of_rotations(scaling.number("beta_fast", 32.0, 1e-6, kLargest));
  double high = pair_of_rotations(scaling.number("beta_slow", 1.0, 1e-6, kLargest));
  if (scaling.flag("truncate", true)) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dimensions - 1.0);
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < rotary.inverse_frequencies.size(); ++i) {
    const double share = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    rotary.inverse_frequencies[i] *= share / factor + (1.0 - share);
  }
  const auto magnitude = [&](double scale) { return factor <= 1.0 ? 1.0 : 0.1 * scale * std::log(factor) + 1.0; };
  const double numerator = scaling.number("mscale", 0.0, 0.0, 1e3);
  const double denominator = scaling.number("mscale_all_dim", 0.0, 0.0, 1e3);
  const double inferred =
      numerator > 0.0 && denominator > 0.0 ? magnitude(numerator) / magnitude(denominator) : magnitude(1.0);
  rotary.attention_factor = scaling.number("attention_factor", inferred, 1e-6, 1e6);
}

/// LongRoPE (Ding et al. 2024): a factor for each pair, one set for short inputs and one for long.
void scale_longrope(const Source& source, Rotary& rotary) {
  const Settings& scaling = *source.scaling;
  rotary.original_length = source.original_length();
  const auto scaled = [&](Names key) {
    const std::vector<double> factors = scaling.numbers(key, 1e-6, kLargest);
    if (factors.size() != rotary.inverse_frequencies.size()) {
      scaling.refuse(key, fmt::format("a list of {} numbers", rotary.inverse_frequencies.size()));
    }
    std::vector<double> frequencies = rotary.inverse_frequencies;
    for (std::size_t i = 0; i < factors.size(); ++i) frequencies[i] /= factors[i];
    return frequencies;
  };
  rotary.long_inverse_frequencies = scaled("long_factor");
  rotary.inverse_frequencies = scaled("short_factor");
  const double length = rotary.original_length;
  const double factor = scaling.has("factor") ? source.factor() : source.max_length / length;
  const double inferred = factor <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(factor) / std::log(length));
  rotary.attention_factor = rotary.long_attention_factor = scaling.number("attention_factor", inferred, 1e-6, 1e6);
}

/// The object that describes these layers; none: RoPE without scaling. rope_scaling is the older key, and takes precedence
/// in transformers as well; in families whose layers with a window have RoPE of their own it is about the others.
std::optional<Settings> scaling_of(const Settings& settings, const Family& family, bool is_local) {
  const std::optional<Settings> older = settings.child("rope_scaling");
  const std::optional<Settings> parameters = settings.child("rope_parameters");
  if (family.local_rope_theta == 0.0) return older && !older->is_empty() ? older : parameters;
  if (older && !older->is_empty() && (!is_local || family.scales_local_rope)) return older;
  return parameters ? parameters->child(is_local ? "sliding_attention" : "full_attention") : std::nullopt;
}

}  // namespace

Rotary read_rotary(const Settings& settings, const Family& family, std::uint32_t head_size, std::uint32_t max_length,
                   bool is_local) {
  const std::optional<Settings> scaling = scaling_of(settings, family, is_local);
  Source source{.top = settings, .scaling = scaling, .max_length = max_length};
  const auto base = [&](Names keys, double fallback) { return settings.number(keys, fallback, 1.0 + 1e-6, kLargest); };
  source.theta = base("rope_theta|rotary_emb_base|rope.freq_base|global_rope_theta", family.rope_theta);
  // ModernBERT's null stands for the other layers' base.
  constexpr Names kLocal = "rope_local_base_freq|rope.freq_base_swa|local_rope_theta";
  if (is_local && !settings.is_null(kLocal)) source.theta = base(kLocal, family.local_rope_theta);
  if (scaling) source.theta = scaling->number("rope_theta", source.theta, 1.0 + 1e-6, kLargest);
  double share = 1.0;
  if (family.partial_rotary > 0.0) {
    constexpr Names kShare = "partial_rotary_factor|rotary_pct";
    if (!settings.is_null(kShare)) share = settings.number(kShare, family.partial_rotary, 0.0, 1.0);
    if (scaling) share = scaling->number("partial_rotary_factor", share, 0.0, 1.0);
  }
  const std::uint32_t dimensions =
      settings.count("rope.dimension_count|rotary_dim", static_cast<std::uint32_t>(head_size * share), head_size);
  if (dimensions < 2 || dimensions % 2 != 0) {
    throw Error("the config's RoPE rotates {} of a head's {} components, but must rotate pairs", dimensions, head_size);
  }
  Rotary rotary{.dimensions = dimensions,
                .is_interleaved = family.is_rotary_interleaved,
                .inverse_frequencies = plain_frequencies(source.theta, dimensions)};
  std::string type = scaling ? scaling->text("rope_type|type", "default") : "default";
  if (type == "yarn" && family.is_yarn_longrope) type = "longrope";
  if (type == "linear") {
    for (double& frequency : rotary.inverse_frequencies) frequency /= source.factor();
  } else if (type == "llama3") {
    scale_llama3(source, rotary);
  } else if (type == "yarn") {
    scale_yarn(source, rotary);
  } else if (type == "longrope" || type == "su") {
    scale_longrope(source, rotary);
  } else if (type == "dynamic") {
    rotary.dynamic_factor = source.factor();
    rotary.base = source.theta;
    rotary.original_length = max_length;
    if (dimensions < 4)
      throw Error("the config's dynamic RoPE rotates {} components, but must rotate 4 or more", dimensions);
  } else if (type != "default") {
    scaling->refuse_network("rope_type|type", "default, linear, dynamic, llama3, yarn or longrope");
  }
  return rotary;
}

}  // namespace headlight::model
