#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace headlight::app {

/// ln Σ exp of logits, at least one.
inline double log_sum_exp(std::span<const float> logits) {
  const auto largest = static_cast<double>(*std::ranges::max_element(logits));
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

}  // namespace headlight::app
