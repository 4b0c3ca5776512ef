#include "view/value_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "view/number_format.h"

namespace headlight::view {
namespace {

// The smallest of 1, 2, 5 × 10^k that is not below `at_least`.
double nice_step(double at_least) {
  const double power = std::pow(10.0, std::floor(std::log10(at_least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= at_least * (1.0 - 1e-9)) return factor * power;
  }
  return 10.0 * power;
}

}  // namespace

float ValueScale::position(float value, float row_maximum) const {
  if (std::isnan(value)) return 0.0F;
  const float scaled = kind == ScaleKind::PerRow ? value / row_maximum : value;
  return std::clamp((scaled - low) / (high - low), 0.0F, 1.0F);
}

ValueScale make_scale(ScaleKind kind, std::span<const float> values, std::span<const std::uint8_t> masked) {
  if (kind == ScaleKind::Unit || kind == ScaleKind::PerRow) return {kind, 0.0F, 1.0F};
  float largest = 0.0F;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = values[i];
    if (!std::isfinite(value) || value <= kFillBelow || (!masked.empty() && masked[i] != 0)) continue;
    largest = std::max(largest, kind == ScaleKind::Symmetric ? std::abs(value) : value);
  }
  if (largest <= std::numeric_limits<float>::min()) largest = 1.0F;
  return {kind, kind == ScaleKind::Symmetric ? -largest : 0.0F, largest};
}

ValueScale join(const ValueScale& a, const ValueScale& b) {
  return {a.kind, std::min(a.low, b.low), std::max(a.high, b.high)};
}

float row_maximum(std::span<const float> row) {
  float largest = std::numeric_limits<float>::min();
  for (const float value : row) {
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

std::vector<Tick> make_ticks(float low, float high, std::uint32_t max_count) {
  std::vector<Tick> ticks;
  const double range = static_cast<double>(high) - static_cast<double>(low);
  const auto intervals = static_cast<double>(std::max(max_count, 2U) - 1);
  if (!(range > 0.0) || !std::isfinite(range)) return ticks;
  // How many multiples lie inside depends on where they fall, so begin with a step that is surely too small.
  double step = nice_step(range / intervals / 5.0);
  const auto first = [&] { return std::ceil(static_cast<double>(low) / step - 1e-6); };
  const auto last = [&] { return std::floor(static_cast<double>(high) / step + 1e-6); };
  while (last() - first() > intervals) step = nice_step(step * 1.01);
  const double step_power = std::floor(std::log10(step) + 1e-9);
  const double range_power = std::floor(std::log10(std::max(std::abs(first()), std::abs(last())) * step) + 1e-9);
  const bool is_scientific = step_power < -4.0 || range_power > 4.0;
  const auto decimals = static_cast<std::uint32_t>(std::max(0.0, is_scientific ? range_power - step_power : -step_power));
  for (double i = first(); i <= last(); i += 1.0) {
    const auto value = static_cast<float>(i * step);
    std::string label = is_scientific ? format_scientific(value, decimals) : format_fixed(value, decimals);
    ticks.push_back({std::clamp(value, low, high), std::move(label)});
  }
  return ticks;
}

}  // namespace headlight::view
