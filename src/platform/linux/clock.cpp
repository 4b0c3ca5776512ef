#include "platform/clock.h"

#include <ctime>

namespace headlight::platform {
namespace {

std::chrono::nanoseconds read_clock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

std::chrono::nanoseconds thread_time() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
std::chrono::nanoseconds time_awake() { return read_clock(CLOCK_MONOTONIC); }
std::chrono::nanoseconds time_with_sleep() { return read_clock(CLOCK_BOOTTIME); }

}  // namespace headlight::platform
