#include "core/sleep_watch.h"

#include <ctime>
#include <utility>

namespace headlight {
namespace {

std::chrono::nanoseconds read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

SleepWatch::SleepWatch(std::function<std::chrono::nanoseconds()> extra)
    : extra_(std::move(extra)), most_at_start_(read().most) {}

SleepWatch::TimeAsleep SleepWatch::read() const {
  TimeAsleep asleep;
#ifdef CLOCK_BOOTTIME
  const auto before = read_clock(CLOCK_MONOTONIC), with_sleep = read_clock(CLOCK_BOOTTIME),
             after = read_clock(CLOCK_MONOTONIC);
  asleep = {with_sleep - after, with_sleep - before};
#endif
  if (!extra_) return asleep;
  const std::chrono::nanoseconds extra = extra_();
  return {asleep.least + extra, asleep.most + extra};
}

bool SleepWatch::has_slept() const { return read().least > most_at_start_; }

}  // namespace headlight
