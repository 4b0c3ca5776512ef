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

/// Raises `largest` to `error`, and to ∞ when that is NaN, which std::max would ignore.
inline void raise_to(double& largest, double error) {
  largest = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(largest, error);
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
    raise_to(result.max_abs, difference);
    error += difference * difference;
    power += expected[i] * expected[i];
  }
  result.nmse = power > 0.0 ? error / power : (error > 0.0 ? kInfinity : 0.0);
  return result;
}

/// Raises `largest` to |a − b|, and to ∞ when that is NaN. Two equal infinities differ by 0.
inline void widen(double& largest, double a, double b) { raise_to(largest, a == b ? 0.0 : std::abs(a - b)); }
inline void widen(double& largest, float a, float b) { widen(largest, static_cast<double>(a), static_cast<double>(b)); }

/// The larger of each, over many cases.
inline void widen(Deviation& worst, const Deviation& other) {
  raise_to(worst.nmse, other.nmse);
  raise_to(worst.max_abs, other.max_abs);
}

}  // namespace headlight::test
