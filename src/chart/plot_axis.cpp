#include "chart/plot_axis.h"

#include <cmath>
#include <limits>

namespace headlight::chart {

double PlotAxis::at(double number) const { return !is_log ? number : number > 0.0 ? std::log10(number) : zero; }

PlotTicks PlotAxis::ticks(float length, float label_room, bool is_whole) const {
  PlotTicks ticks;
  const ValueLimits limits{.low = static_cast<float>(low), .high = static_cast<float>(high)};
  for (const Tick& tick : make_axis_ticks(limits, length, label_room, is_whole))
    ticks.emplace_back(place(double{tick.value}), tick.label);
  return ticks;
}

PlotAxis plot_axis(std::span<const double> numbers, double air, bool is_log) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double least = kInfinity;
  for (const double number : numbers) least = number > 0.0 ? std::min(least, number) : least;
  PlotAxis axis{.low = kInfinity, .high = -kInfinity, .is_log = is_log && std::isfinite(least)};
  if (axis.is_log) axis.zero = std::log10(least) - 0.5;
  for (const double number : numbers) {
    if (!std::isfinite(number)) continue;
    axis.low = std::min(axis.low, axis.at(number));
    axis.high = std::max(axis.high, axis.at(number));
  }
  if (axis.low > axis.high) return {};
  const bool has_range = static_cast<float>(axis.high) > static_cast<float>(axis.low);  // which ticks are made of
  const double more = has_range ? air * (axis.high - axis.low) : 0.5;
  axis.low -= more;
  axis.high += more;
  return axis;
}

}  // namespace headlight::chart
