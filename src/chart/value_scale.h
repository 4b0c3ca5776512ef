#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headlight::chart {

/// The values at the two ends of a colour bar.
enum class ScaleKind : std::uint8_t {
  Unit,       ///< 0 … 1: weights of different heads and runs can be compared
  Maximum,    ///< 0 … the map's largest value: weights of long sequences stay visible
  Quantile,   ///< 0 … what 98 % of the map's values are at most
  PerRow,     ///< 0 … each row's own largest value
  Symmetric,  ///< −m … m with m the largest magnitude: signed numbers, zero in the middle of a diverging map
};

/// The ends of a colour bar as the user chose them; `high` is above `low`.
struct ValueLimits {
  float low = 0.0F;
  float high = 1.0F;

  bool operator==(const ValueLimits&) const = default;
};

/// The spread of the colours over a range: evenly over the values, over their square roots above the low end, or over
/// their logarithms.
enum class ScaleSpread : std::uint8_t { Linear, Root, Log };

/// The low end of a logarithmic range whose `low` has no logarithm: four decades below `high`.
float log_floor(float low, float high);

/// The position of a value between low (0) and high (1), clamped; NaN is 0.
float position_in(ValueLimits limits, ScaleSpread spread, float value);
/// The value at a position; beyond 0 … 1 the scale continues. The inverse of position_in() inside.
float value_at(ValueLimits limits, ScaleSpread spread, float position);

/// A score this low is a mask's fill, not data.
inline constexpr float kFillBelow = -1e8F;

/// The mapping of values to positions 0 … 1 of a colour map.
struct ValueScale {
  ScaleKind kind = ScaleKind::Unit;
  float low = 0.0F;
  float high = 1.0F;  ///< above low
  ScaleSpread spread = ScaleSpread::Linear;

  /// 0 … 1, clamped; −inf is 0, NaN is 0. `row_maximum` (above 0) is used by ScaleKind::PerRow only.
  float position(float value, float row_maximum = 1.0F) const;
};

/// The scale of these values. Masked cells (1 in `masked`, which may be empty), infinities, NaN and fills are ignored.
/// The scale is 0 … 1 or −1 … 1 where no other values are left, or only zeros.
ValueScale make_scale(ScaleKind kind, std::span<const float> values, std::span<const std::uint8_t> masked = {});

/// What 98 % of the values are at most, of some thousands, evenly spaced; 0 where fewer than 16 of these are visible and
/// finite.
float high_value(std::span<const float> values, std::span<const std::uint8_t> masked);

/// One scale that holds several maps' values (a contact sheet).
ValueScale join(const ValueScale& a, const ValueScale& b);

/// Largest finite value of a row, at least the smallest normal float, so that it can be divided by.
float row_maximum(std::span<const float> row);

struct Tick {
  float value = 0.0F;
  std::string label;
};

/// The ticks of a colour bar of this `length` whose labels need `label_height` each along it, ascending: round
/// values (steps of 1, 2 or 5 times a power of ten, all with the same decimals) or powers of ten from log_floor() on, about
/// one every four labels' height, and always one at either end; a round one that would touch an end's label is dropped.
std::vector<Tick> make_bar_ticks(ValueLimits limits, ScaleSpread spread, float length, float label_height);

/// Round values (steps of 1, 2 or 5 times a power of ten) inside of a plot's axis, ascending, as many as have room at this
/// `length` where each needs `label_room` along it. `is_whole`: of indices, which have none between.
std::vector<Tick> make_axis_ticks(ValueLimits limits, float length, float label_room, bool is_whole = false);

}  // namespace headlight::chart
