#include "app/lessons/printed_numbers.h"

#include <cmath>

namespace headlight::app {
namespace {

/// The place where the printed and the computed numbers are farthest apart.
struct FarthestNumber {
  std::size_t index = 0;
  double difference = 0.0;  ///< NaN where one of the run's numbers is
};

FarthestNumber farthest_number(const PrintedNumbers& numbers, std::span<const float> computed) {
  FarthestNumber farthest;
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const double difference = std::abs(double{computed[i]} - numbers.values[i]);
    if (std::isnan(difference)) return {.index = i, .difference = difference};
    if (difference > farthest.difference) farthest = {.index = i, .difference = difference};
  }
  return farthest;
}

}  // namespace

double PrintedNumbers::tolerance() const {
  if (within) return *within;
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  // Half of the last printed decimal, and the rounding of float32, in which both programs compute.
  return 0.5 * std::pow(10.0, -decimals) + 1e-6 * std::max(largest, 1.0);
}

bool agree(const PrintedNumbers& numbers, std::span<const float> computed) {
  return farthest_number(numbers, computed).difference <= numbers.tolerance();
}

std::string verdict_of(const PrintedNumbers& numbers, std::span<const float> computed, std::string_view departure,
                       const LessonWords& words) {
  const auto [index, difference] = farthest_number(numbers, computed);
  if (difference <= numbers.tolerance()) {
    const bool is_rounding = !numbers.within && difference > 0.5 * std::pow(10.0, -numbers.decimals);
    return fmt::format(fmt::runtime(words["numbers_agree"]), difference, numbers.decimals) +
           (is_rounding ? words["float32"] : "");
  }
  if (!departure.empty()) return fmt::format(fmt::runtime(words["numbers_differ"]), difference, departure);
  const auto columns = std::size_t{numbers.query.columns};
  return fmt::format(fmt::runtime(words["number_differs"]), numbers.query.row + index / columns,
                     numbers.query.column + index % columns, numbers.values[index], numbers.decimals, computed[index],
                     numbers.decimals);
}

}  // namespace headlight::app
