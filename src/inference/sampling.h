#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headlight::inference {

enum class SamplingMethod : std::uint8_t { Greedy, Random };

/// The rule by which one token is chosen from a distribution.
struct SamplingSettings {
  SamplingMethod method = SamplingMethod::Greedy;
  float temperature = 1.0f;  ///< logits are divided by it; above 0
  std::uint32_t top_k = 0;   ///< only the k likeliest tokens (Fan et al. 2018); 0: all
  float top_p = 1.0f;        ///< only the likeliest tokens that together reach p (nucleus, Holtzman et al. 2020); 1: all
  std::uint64_t seed = 1;

  bool operator==(const SamplingSettings&) const = default;
};

/// A token of a vocabulary with its share.
struct Candidate {
  std::uint32_t id = 0;
  float logit = 0.0f;
  double probability = 0.0;  ///< softmax over the whole vocabulary

  bool operator==(const Candidate&) const = default;
};

/// softmax(logits / temperature) over all logits, summed in double. Logits of −inf and NaN have no share.
std::vector<double> probabilities(std::span<const float> logits, double temperature = 1.0);

/// The `count` likeliest tokens of a row of logits, the likeliest first, equal ones by id.
std::vector<Candidate> top_candidates(std::span<const float> logits, std::size_t count);

/// −Σ p ln p of the row's softmax, in nats.
double entropy(std::span<const float> logits);

/// The distribution that sampling settings make from a row of logits.
struct Distribution {
  std::vector<double> probabilities;  ///< [vocabulary] softmax(logits / temperature) over the whole vocabulary
  /// [vocabulary] the chance that Sampler chooses the token: 0 where top-k or top-p cuts it off, and the others share 1.
  std::vector<double> chances;
  std::size_t drawable = 0;  ///< tokens that aren't cut off
  double entropy = 0.0;      ///< of the probabilities, in nats
};
/// Greedy: the softmax itself at temperature 1, nothing is cut off. Throws Error as Sampler::choose() does.
Distribution distribution(std::span<const float> logits, const SamplingSettings& settings);

/// Chooses token after token. The same seed, settings and logits give the same tokens on every machine.
class Sampler {
 public:
  explicit Sampler(const SamplingSettings& settings) : settings_(settings), state_(settings.seed) {}

  /// Throws Error when the temperature isn't above 0, or no logit is finite.
  std::uint32_t choose(std::span<const float> logits);

 private:
  /// Uniform in [0, 1): SplitMix64 (Steele et al. 2014), 53 bits.
  double next_uniform();

  SamplingSettings settings_;
  std::uint64_t state_;
};

}  // namespace headlight::inference
