#include "chart/value_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "chart/number_format.h"

namespace headlight::chart {
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

  /// The ends of the range are seldom round.
  std::string one_decimal_more(float end) const {
    return is_scientific ? format_scientific(end, decimals + 1) : format_fixed(end, decimals + 1);
  }
};

// Returns the text of a value above 0.
std::string two_digits(float value) {
  const int power = static_cast<int>(std::floor(std::log10(value)));
  if (power < -4 || power > 4) return format_scientific(value, 1);
  return format_fixed(value, static_cast<std::uint32_t>(std::max(1 - power, 0)));
}

RoundTicks round_ticks(float low, float high, std::uint32_t max_count) {
  RoundTicks round;
  const double range = static_cast<double>(high) - static_cast<double>(low);
  const auto intervals = static_cast<double>(std::max(max_count, 2U) - 1);
  if (!(range > 0.0) || !std::isfinite(range)) return round;
  // The number of multiples inside depends on the offset, so start with a step that is certainly too small.
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

// Powers of ten, ascending; where there are fewer than two of them, their multiples by 2 and 5 too.
std::vector<Tick> log_ticks(float low, float high, std::uint32_t max_count) {
  std::vector<Tick> ticks;
  const double floor = static_cast<double>(log_floor(low, high));
  if (!(static_cast<double>(high) > floor) || !std::isfinite(high)) return ticks;
  constexpr double kSlack = 1.0 + 1e-6;
  const int first = static_cast<int>(std::ceil(std::log10(floor / kSlack)));
  const int last = static_cast<int>(std::floor(std::log10(static_cast<double>(high) * kSlack)));
  const auto add = [&](double factor, int power) {
    const double value = factor * std::pow(10.0, power);
    if (value * kSlack < floor || value > static_cast<double>(high) * kSlack) return;
    const auto shown = static_cast<float>(value);
    const bool is_scientific = power < -4 || power > 4;
    ticks.push_back({.value = std::clamp(shown, static_cast<float>(floor), high),
                     .label = is_scientific ? format_scientific(shown, 0)
                                            : format_fixed(shown, static_cast<std::uint32_t>(std::max(-power, 0)))});
  };
  const int most = static_cast<int>(std::max(max_count, 2U));
  if (last - first < 1) {
    for (int power = first - 1; power <= last; ++power) {
      for (const double factor : {1.0, 2.0, 5.0}) add(factor, power);
    }
    if (static_cast<int>(ticks.size()) > most) ticks.resize(static_cast<std::size_t>(most));
    return ticks;
  }
  const int step = (last - first + most) / most;
  for (int power = last - (last - first) / step * step; power <= last; power += step) add(1.0, power);
  return ticks;
}

}  // namespace

float ValueScale::position(float value, float row_maximum) const {
  if (std::isnan(value)) return 0.0F;
  return position_in({.low = low, .high = high}, spread, kind == ScaleKind::PerRow ? value / row_maximum : value);
}

float log_floor(float low, float high) {
  constexpr float kFourDecades = 1e-4F;
  return low > 0.0F ? low : high * kFourDecades;
}

float position_in(ValueLimits limits, ScaleSpread spread, float value) {
  if (std::isnan(value)) return 0.0F;
  if (spread == ScaleSpread::Log) {
    const float floor = log_floor(limits.low, limits.high);
    if (!(value > floor) || !(limits.high > floor)) return 0.0F;
    return std::clamp(std::log(value / floor) / std::log(limits.high / floor), 0.0F, 1.0F);
  }
  const float range = limits.high - limits.low;
  const bool is_sound = range > 0.0F && std::isfinite(range);
  const float part = is_sound ? std::clamp((value - limits.low) / range, 0.0F, 1.0F) : 0.0F;
  return spread == ScaleSpread::Root ? std::sqrt(part) : part;
}

float value_at(ValueLimits limits, ScaleSpread spread, float position) {
  if (spread == ScaleSpread::Linear) return limits.low + (limits.high - limits.low) * position;
  if (spread == ScaleSpread::Root) return limits.low + (limits.high - limits.low) * position * std::abs(position);
  const float floor = log_floor(limits.low, limits.high);
  return floor * std::pow(limits.high / floor, position);
}

ValueScale make_scale(ScaleKind kind, std::span<const float> values, std::span<const std::uint8_t> masked) {
  if (kind == ScaleKind::Unit || kind == ScaleKind::PerRow) return {.kind = kind, .low = 0.0F, .high = 1.0F};
  const float quantile = kind == ScaleKind::Quantile ? high_value(values, masked) : 0.0F;
  if (quantile > 0.0F) return {.kind = kind, .low = 0.0F, .high = quantile};
  float largest = 0.0F;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = values[i];
    if (!std::isfinite(value) || value <= kFillBelow || (!masked.empty() && masked[i] != 0)) continue;
    largest = std::max(largest, kind == ScaleKind::Symmetric ? std::abs(value) : value);
  }
  if (largest <= std::numeric_limits<float>::min()) largest = 1.0F;
  return {.kind = kind, .low = kind == ScaleKind::Symmetric ? -largest : 0.0F, .high = largest};
}

float high_value(std::span<const float> values, std::span<const std::uint8_t> masked) {
  constexpr std::size_t kSamples = 4096;
  constexpr std::size_t kMinCells = 16;
  std::vector<float> samples;
  const std::size_t step = std::max<std::size_t>(values.size() / kSamples, 1);
  for (std::size_t cell = 0; cell < values.size(); cell += step) {
    const bool is_masked = !masked.empty() && masked[cell] != 0;
    if (!is_masked && std::isfinite(values[cell])) samples.push_back(values[cell]);
  }
  if (samples.size() < kMinCells) return 0.0F;
  const auto most = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() * 98 / 100);
  std::ranges::nth_element(samples, most);
  return *most;
}

ValueScale join(const ValueScale& a, const ValueScale& b) {
  return {.kind = a.kind, .low = std::min(a.low, b.low), .high = std::max(a.high, b.high), .spread = a.spread};
}

float row_maximum(std::span<const float> row) {
  float largest = std::numeric_limits<float>::min();
  for (const float value : row) {
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

std::vector<Tick> make_axis_ticks(ValueLimits limits, float length, float label_room, bool is_whole) {
  constexpr float kMax = 11.0F;
  const auto count = static_cast<std::uint32_t>(std::clamp(length / (1.5F * label_room), 2.0F, kMax));
  std::vector<Tick> ticks = round_ticks(limits.low, limits.high, count).ticks;
  if (!is_whole) return ticks;
  std::erase_if(ticks, [](const Tick& tick) { return tick.value != std::round(tick.value); });
  for (Tick& tick : ticks) tick.label = format_fixed(tick.value, 0);
  return ticks;
}

std::vector<Tick> make_bar_ticks(ValueLimits limits, ScaleSpread spread, float length, float label_height) {
  constexpr float kMax = 11.0F;
  const auto count = static_cast<std::uint32_t>(std::clamp(length / (4.0F * label_height) + 1.0F, 2.0F, kMax));
  RoundTicks round;
  if (spread == ScaleSpread::Log) {
    round.ticks = log_ticks(limits.low, limits.high, count);
    limits.low = log_floor(limits.low, limits.high);
  } else {
    round = round_ticks(limits.low, limits.high, count);
  }
  if (!(limits.high > limits.low) || !std::isfinite(limits.high - limits.low)) return round.ticks;
  const float apart = std::min(1.2F * label_height / std::max(length, 1.0F), 0.5F);
  const auto distance = [&](const Tick& tick, float end) {
    return std::abs(position_in(limits, spread, tick.value) - position_in(limits, spread, end));
  };
  for (const float end : {limits.low, limits.high}) {
    if (std::ranges::any_of(round.ticks, [&](const Tick& tick) { return distance(tick, end) <= 1e-4F; })) continue;
    std::erase_if(round.ticks, [&](const Tick& tick) { return distance(tick, end) < apart; });
    Tick tick{.value = end, .label = spread == ScaleSpread::Log ? two_digits(end) : round.one_decimal_more(end)};
    round.ticks.insert(end == limits.low ? round.ticks.begin() : round.ticks.end(), std::move(tick));
  }
  return round.ticks;
}

}  // namespace headlight::chart
