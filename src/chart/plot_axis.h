#pragma once

#include <span>

#include "chart/value_scale.h"

namespace headlight::chart {

using PlotTicks = std::vector<std::pair<float, std::string>>;  ///< place on the axis, 0 … 1, and label

/// An axis of a plot with some air at both ends. On a log axis 0, which has no logarithm, is half a decade before the
/// smallest number above it.
struct PlotAxis {
  double low = 0.0, high = 1.0;
  bool is_log = false;
  double zero = 0.0;  ///< of a log axis: where 0 is

  /// Returns a number, or its logarithm.
  double at(double number) const;
  /// Returns the place of at(number), 0 … 1 within the axis.
  float place(double at) const { return static_cast<float>((at - low) / (high - low)); }
  float share(double number) const { return place(at(number)); }
  /// Returns places and labels of the ticks of an axis that isn't logarithmic, as make_axis_ticks().
  PlotTicks ticks(float length, float label_room, bool is_whole = false) const;
};
/// Returns the axis of these numbers, of those that are finite; without one from 0 to 1. `air`: a share of their range.
PlotAxis plot_axis(std::span<const double> numbers, double air = 0.06, bool is_log = false);

}  // namespace headlight::chart
