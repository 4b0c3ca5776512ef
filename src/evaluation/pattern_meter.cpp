#include "evaluation/pattern_meter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace headlight::evaluation {

void PatternMeter::add(std::span<const float> weights, std::span<const std::uint8_t> masked,
                       std::span<const std::uint8_t> pattern) {
  std::size_t visible = 0, meant = 0;
  double mass = 0.0;
  for (std::size_t key = 0; key < weights.size(); ++key) {
    if (!masked.empty() && masked[key] != 0) continue;
    ++visible;
    if (pattern[key] == 0) continue;
    ++meant;
    mass += double{weights[key]};
  }
  if (meant == 0) return;
  mass_ += mass;
  chance_ += static_cast<double>(meant) / static_cast<double>(visible);
  ++queries_;
}

void PatternMeter::add_part(std::span<const float> weights) {
  for (const float weight : weights) mass_ += double{weight};
  ++queries_;
}

void PatternMeter::add_evenness(std::span<const float> weights, std::span<const std::uint8_t> masked) {
  const auto hidden = static_cast<std::size_t>(std::ranges::count_if(masked, [](std::uint8_t is) { return is != 0; }));
  const std::size_t visible = weights.size() - hidden;
  if (visible < 2) return;
  const double even = 1.0 / static_cast<double>(visible);
  for (std::size_t key = 0; key < weights.size(); ++key) {
    if (!masked.empty() && masked[key] != 0) continue;
    const double weight = double{weights[key]};
    mass_ += weight > even ? even : weight;  // a NaN stays one
  }
  chance_ += 1.0;
  ++queries_;
}

std::optional<PatternMatch> PatternMeter::match() const {
  if (queries_ == 0 || !std::isfinite(mass_)) return std::nullopt;
  return PatternMatch{.mass = mass_ / queries_, .chance = chance_ / queries_, .queries = queries_};
}

}  // namespace headlight::evaluation
