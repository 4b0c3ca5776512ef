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

struct RoundTicks {
  std::vector<Tick> ticks;
  bool is_scientific = false;
  std::uint32_t decimals = 0;
};

RoundTicks round_ticks(float low, float high, std::uint32_t max_count) {
  RoundTicks round;
  const double range = static_cast<double>(high) - static_cast<double>(low);
  const auto intervals = static_cast<double>(std::max(max_count, 2U) - 1);
  if (!(range > 0.0) || !std::isfinite(range)) return round;
  // How many multiples lie inside depends on where they fall, so begin with a step that is surely too small.
  double step = nice_step(range / intervals / 5.0);
  const auto first = [&] { return std::ceil(static_cast<double>(low) / step - 1e-6); };
  const auto last = [&] { return std::floor(static_cast<double>(high) / step + 1e-6); };
  while (last() - first() > intervals) step = nice_step(step * 1.01);
  const double step_power = std::floor(std::log10(step) + 1e-9);
  const double range_power = std::floor(std::log10(std::max(std::abs(first()), std::abs(last())) * step) + 1e-9);
  round.is_scientific = step_power < -4.0 || range_power > 4.0;
  round.decimals = static_cast<std::uint32_t>(std::max(0.0, round.is_scientific ? range_power - step_power : -step_power));
  for (double i = first(); i <= last(); i += 1.0) {
    const auto value = static_cast<float>(i * step);
    std::string label = round.is_scientific ? format_scientific(value, round.decimals) : format_fixed(value, round.decimals);
    round.ticks.push_back({std::clamp(value, low, high), std::move(label)});
  }
  return round;
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
  return round_ticks(low, high, max_count).ticks;
}

std::vector<Tick> make_bar_ticks(float low, float high, float length, float label_height) {
  constexpr float kMost = 11.0F;
  const auto count = static_cast<std::uint32_t>(std::clamp(length / (4.0F * label_height) + 1.0F, 2.0F, kMost));
  RoundTicks round = round_ticks(low, high, count);
  if (!(high > low) || !std::isfinite(high - low)) return round.ticks;
  const float apart = (high - low) * std::min(1.2F * label_height / std::max(length, 1.0F), 0.5F);
  const auto has_end = [&](float end) {
    return std::ranges::any_of(round.ticks,
                               [&](const Tick& tick) { return std::abs(tick.value - end) <= 1e-4F * (high - low); });
  };
  for (const float end : {low, high}) {
    if (has_end(end)) continue;
    std::erase_if(round.ticks, [&](const Tick& tick) { return std::abs(tick.value - end) < apart; });
    // One decimal more than the round ones have: an end is seldom round.
    Tick tick{end, round.is_scientific ? format_scientific(end, round.decimals + 1) : format_fixed(end, round.decimals + 1)};
    round.ticks.insert(end == low ? round.ticks.begin() : round.ticks.end(), std::move(tick));
  }
  return round.ticks;
}

}  // namespace headlight::view
