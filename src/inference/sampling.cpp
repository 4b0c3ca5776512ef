#include "inference/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"

namespace headlight::inference {
namespace {

bool counts(float logit) { return !std::isnan(logit) && logit != -std::numeric_limits<float>::infinity(); }

float largest_logit(std::span<const float> logits) {
  float largest = -std::numeric_limits<float>::infinity();
  for (const float logit : logits) {
    if (counts(logit)) largest = std::max(largest, logit);
  }
  return largest;
}

/// The `count` tokens with the largest logits, in order.
std::vector<std::uint32_t> likeliest(std::span<const float> logits, std::size_t count) {
  std::vector<std::uint32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0U);
  std::erase_if(ids, [&](std::uint32_t id) { return !counts(logits[id]); });
  count = std::min(count, ids.size());
  const auto middle = ids.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(ids.begin(), middle, ids.end(), [&](std::uint32_t left, std::uint32_t right) {
    return logits[left] > logits[right] || (logits[left] == logits[right] && left < right);
  });
  ids.erase(middle, ids.end());
  return ids;
}

double entropy_of(std::span<const double> shares) {
  double sum = 0.0;
  for (const double share : shares) {
    if (share > 0.0) sum -= share * std::log(share);
  }
  return sum;
}

/// The tokens that random sampling may draw.
struct Nucleus {
  std::vector<std::uint32_t> ids;  ///< likeliest first; at least one
  std::vector<double> shares;      ///< [ids] softmax over what top-k leaves; those of the first `count` are drawn from
  std::size_t count = 0;
  double sum = 0.0;  ///< of the first `count` shares
};

Nucleus nucleus_of(std::span<const float> logits, const SamplingSettings& settings) {
  if (!(settings.temperature > 0.0f)) {
    throw Error("temperature {}: it divides the logits and must be above 0", settings.temperature);
  }
  Nucleus nucleus;
  nucleus.ids = likeliest(logits, settings.top_k == 0 ? logits.size() : settings.top_k);
  if (nucleus.ids.empty()) throw Error("no token can be chosen: no logit is finite");
  std::vector<float> kept;
  for (const std::uint32_t id : nucleus.ids) kept.push_back(logits[id]);
  nucleus.shares = probabilities(kept, static_cast<double>(settings.temperature));
  const auto reaches_p = [&] { return nucleus.count > 0 && !(nucleus.sum < static_cast<double>(settings.top_p)); };
  while (nucleus.count < nucleus.shares.size() && !reaches_p()) nucleus.sum += nucleus.shares[nucleus.count++];
  return nucleus;
}

}  // namespace

std::vector<double> probabilities(std::span<const float> logits, double temperature) {
  std::vector<double> shares(logits.size(), 0.0);
  const double largest = static_cast<double>(largest_logit(logits));
  double sum = 0.0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!counts(logits[i])) continue;
    shares[i] = std::exp((static_cast<double>(logits[i]) - largest) / temperature);
    sum += shares[i];
  }
  for (double& share : shares) share /= sum > 0.0 ? sum : 1.0;
  return shares;
}

std::vector<Candidate> top_candidates(std::span<const float> logits, std::size_t count) {
  const double largest = static_cast<double>(largest_logit(logits));
  double sum = 0.0;
  for (const float logit : logits) {
    if (counts(logit)) sum += std::exp(static_cast<double>(logit) - largest);
  }
  std::vector<Candidate> candidates;
  for (const std::uint32_t id : likeliest(logits, count)) {
    const double share = std::exp(static_cast<double>(logits[id]) - largest) / sum;
    candidates.push_back({.id = id, .logit = logits[id], .probability = share});
  }
  return candidates;
}

double entropy(std::span<const float> logits) { return entropy_of(probabilities(logits)); }

Distribution distribution(std::span<const float> logits, const SamplingSettings& settings) {
  Distribution result;
  if (settings.method == SamplingMethod::Greedy) {
    result.probabilities = probabilities(logits);
    result.chances = result.probabilities;
    result.drawable = static_cast<std::size_t>(std::ranges::count_if(logits, counts));
    result.entropy = entropy_of(result.probabilities);
    return result;
  }
  const Nucleus nucleus = nucleus_of(logits, settings);
  result.probabilities = probabilities(logits, static_cast<double>(settings.temperature));
  result.chances.assign(logits.size(), 0.0);
  for (std::size_t i = 0; i < nucleus.count; ++i) result.chances[nucleus.ids[i]] = nucleus.shares[i] / nucleus.sum;
  result.drawable = nucleus.count;
  result.entropy = entropy_of(result.probabilities);
  return result;
}

std::uint32_t Sampler::choose(std::span<const float> logits) {
  if (settings_.method == SamplingMethod::Greedy) {
    const std::vector<std::uint32_t> best = likeliest(logits, 1);
    if (best.empty()) throw Error("no token can be chosen: no logit is finite");
    return best.front();
  }
  const Nucleus nucleus = nucleus_of(logits, settings_);
  double rest = next_uniform() * nucleus.sum;
  for (std::size_t i = 0; i + 1 < nucleus.count; ++i) {
    rest -= nucleus.shares[i];
    if (rest < 0.0) return nucleus.ids[i];
  }
  return nucleus.ids[nucleus.count - 1];
}

double Sampler::next_uniform() {
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
}

}  // namespace headlight::inference
