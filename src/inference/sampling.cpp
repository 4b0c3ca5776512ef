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

double entropy(std::span<const float> logits) {
  double sum = 0.0;
  for (const double share : probabilities(logits)) {
    if (share > 0.0) sum -= share * std::log(share);
  }
  return sum;
}

std::uint32_t Sampler::choose(std::span<const float> logits) {
  const bool is_greedy = settings_.method == SamplingMethod::Greedy;
  if (!is_greedy && !(settings_.temperature > 0.0f)) {
    throw Error("temperature {}: it divides the logits and must be above 0", settings_.temperature);
  }
  const std::size_t most = is_greedy ? 1 : settings_.top_k == 0 ? logits.size() : settings_.top_k;
  const std::vector<std::uint32_t> ids = likeliest(logits, most);
  if (ids.empty()) throw Error("no token can be chosen: no logit is finite");
  if (is_greedy) return ids.front();

  std::vector<float> kept;
  for (const std::uint32_t id : ids) kept.push_back(logits[id]);
  const std::vector<double> shares = probabilities(kept, static_cast<double>(settings_.temperature));
  double nucleus = 0.0;
  std::size_t count = 0;
  while (count < shares.size() && (count == 0 || nucleus < static_cast<double>(settings_.top_p))) nucleus += shares[count++];

  double rest = next_uniform() * nucleus;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    rest -= shares[i];
    if (rest < 0.0) return ids[i];
  }
  return ids[count - 1];
}

double Sampler::next_uniform() {
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
}

}  // namespace headlight::inference
