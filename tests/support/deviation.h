#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <span>

namespace headlight::test {

/// The deviation of floats from expected values.
struct Deviation {
  double nmse = 0.0;     ///< Σ (a − b)² / Σ b²
  double max_abs = 0.0;  ///< ∞ when sizes differ, a number is NaN or only one of two is infinite
};

inline std::ostream& operator<<(std::ostream& out, const Deviation& deviation) {
  return out << "NMSE " << deviation.nmse << ", at most " << deviation.max_abs;
}

inline Deviation deviation(std::span<const float> values, std::span<const double> expected) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (values.size() != expected.size()) return {kInfinity, kInfinity};
  Deviation result;
  double error = 0.0, power = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    if (value == expected[i] && std::isinf(value)) continue;
    const double difference = std::abs(value - expected[i]);
    if (!std::isfinite(difference)) return {kInfinity, kInfinity};
    result.max_abs = std::max(result.max_abs, difference);
    error += difference * difference;
    power += expected[i] * expected[i];
  }
  result.nmse = power > 0.0 ? error / power : (error > 0.0 ? kInfinity : 0.0);
  return result;
}

/// Raises `largest` to |a − b|, and to ∞ when that is NaN, which std::max would ignore.
inline void widen(double& largest, double a, double b) {
  const double difference = a == b ? 0.0 : std::abs(a - b);
  largest = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(largest, difference);
}
inline void widen(double& largest, float a, float b) { widen(largest, static_cast<double>(a), static_cast<double>(b)); }

/// The larger of each, over many cases.
inline void widen(Deviation& worst, const Deviation& other) {
  worst.nmse = std::max(worst.nmse, other.nmse);
  worst.max_abs = std::max(worst.max_abs, other.max_abs);
}

}  // namespace headlight::test
