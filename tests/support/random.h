#pragma once

#include <cstdint>
#include <random>

#include "core/tensor.h"

namespace headlight::test {

/// Numbers that are the same on every machine: std::mt19937 without std's distributions, which differ between
/// libraries.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}

  /// 0 … count − 1.
  std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(engine_() % count); }
  /// first … last.
  std::uint32_t between(std::uint32_t first, std::uint32_t last) { return first + below(last - first + 1); }
  bool chance(double probability) { return static_cast<double>(engine_()) * 0x1p-32 < probability; }
  /// Returns one of the list.
  template <typename T>
  T pick(std::initializer_list<T> list) {
    return *(list.begin() + below(static_cast<std::uint32_t>(list.size())));
  }
  /// Uniform on [−range, range).
  float number(float range = 1.0f) { return (static_cast<float>(engine_() >> 8) * 0x1p-23f - 1.0f) * range; }
  Tensor tensor(Shape shape, float range = 1.0f) {
    Tensor result(std::move(shape));
    for (float& value : result.values) value = number(range);
    return result;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace headlight::test
