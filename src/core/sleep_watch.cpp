#include "core/sleep_watch.h"

#include <utility>

#include "platform/clock.h"

namespace headlight {

SleepWatch::SleepWatch(std::function<std::chrono::nanoseconds()> extra)
    : extra_(std::move(extra)), most_at_start_(read().most) {}

SleepWatch::TimeAsleep SleepWatch::read() const {
  const auto before = platform::time_awake(), with_sleep = platform::time_with_sleep(), after = platform::time_awake();
  const TimeAsleep asleep = {with_sleep - after, with_sleep - before};
  if (!extra_) return asleep;
  const std::chrono::nanoseconds extra = extra_();
  return {asleep.least + extra, asleep.most + extra};
}

bool SleepWatch::has_slept() const { return read().least > most_at_start_; }

}  // namespace headlight
