#include "evaluation/pattern_meter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace headlight::evaluation {

void PatternMeter::add(std::span<const double> weights, double sum, std::span<const std::uint32_t> keys, double chance) {
  if (!std::isfinite(sum)) mass_ = std::numeric_limits<double>::quiet_NaN();
  if (keys.empty()) return;
  for (const std::uint32_t key : keys) mass_ += weights[key];
  chance_ += chance;
  ++queries_;
}

void PatternMeter::add_evenness(std::span<const double> weights, std::span<const std::uint8_t> masked) {
  const auto hidden = static_cast<std::size_t>(std::ranges::count_if(masked, [](std::uint8_t is) { return is != 0; }));
  const std::size_t visible = weights.size() - hidden;
  if (visible < 2) return;
  const double even = 1.0 / static_cast<double>(visible);
  for (std::size_t key = 0; key < weights.size(); ++key) {
    if (!masked.empty() && masked[key] != 0) continue;
    mass_ += weights[key] > even ? even : weights[key];  // a NaN stays one
  }
  chance_ += 1.0;
  ++queries_;
}

double PatternMeter::mass() const { return queries_ == 0 ? mass_ : mass_ / queries_; }

std::optional<PatternMatch> PatternMeter::match() const {
  if (queries_ == 0 || !std::isfinite(mass_)) return std::nullopt;
  return PatternMatch{.mass = mass(), .chance = chance_ / queries_, .queries = queries_};
}

}  // namespace headlight::evaluation
