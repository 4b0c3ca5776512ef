#pragma once

#include <optional>

namespace headlight::app {

/// A value of the run, and where two runs are compared the baseline's.
template <typename Value>
struct Compared {
  Value now = {};
  std::optional<Value> baseline = {};

  /// Returns the drawn value: the run's, or its difference from the baseline's.
  Value shown() const { return baseline ? now - *baseline : now; }
  /// Returns a part of both.
  template <typename Part>
  auto part(const Part& of) const {
    using Result = decltype(of(now));
    return Compared<Result>{.now = of(now), .baseline = baseline ? std::optional<Result>(of(*baseline)) : std::nullopt};
  }

  bool operator==(const Compared&) const = default;
};

}  // namespace headlight::app
