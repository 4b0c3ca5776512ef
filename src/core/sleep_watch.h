#pragma once

#include <chrono>
#include <functional>

namespace headlight {

/// Notices that the computer was suspended: one clock goes on meanwhile, another doesn't. Graphics drivers may
/// lose what was in a device's own memory then, without an error. Any thread.
class SleepWatch {
 public:
  /// `extra`: time that the computer is pretended to have slept; may be empty.
  explicit SleepWatch(std::function<std::chrono::nanoseconds()> extra = {});

  /// Has the computer slept since this was constructed? Costs three readings of clocks; false where the
  /// system has but one.
  bool has_slept() const;

 private:
  /// Bounds of the time that the computer has slept since it was started: the two clocks can't be read at once.
  struct TimeAsleep {
    std::chrono::nanoseconds least{0}, most{0};
  };
  TimeAsleep read() const;

  std::function<std::chrono::nanoseconds()> extra_;
  std::chrono::nanoseconds most_at_start_;
};

}  // namespace headlight
