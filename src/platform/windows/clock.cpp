#include "platform/clock.h"

#include <windows.h>

namespace headlight::platform {
namespace {

using Ticks = std::chrono::duration<std::int64_t, std::ratio<1, 10'000'000>>;

Ticks ticks(const FILETIME& time) {
  return Ticks(static_cast<std::int64_t>(std::uint64_t{time.dwHighDateTime} << 32U | time.dwLowDateTime));
}

}  // namespace

std::chrono::nanoseconds thread_time() {
  FILETIME ignored{}, kernel{}, user{};
  ::GetThreadTimes(::GetCurrentThread(), &ignored, &ignored, &kernel, &user);
  return ticks(kernel) + ticks(user);
}

std::chrono::nanoseconds time_awake() {
  ULONGLONG count = 0;
  ::QueryUnbiasedInterruptTime(&count);
  return Ticks(static_cast<std::int64_t>(count));
}

/// GetTickCount64() counts on, in steps so large that each would look like a moment of sleep.
std::chrono::nanoseconds time_with_sleep() { return time_awake(); }

}  // namespace headlight::platform
