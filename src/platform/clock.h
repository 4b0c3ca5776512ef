#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace headlight::platform {

/// Processor time of the calling thread.
std::chrono::nanoseconds thread_time();
/// Since some moment: a clock that stands still while the computer is suspended.
std::chrono::nanoseconds time_awake();
/// Since the same moment, with the time of suspension; time_awake() where the system has no such clock.
std::chrono::nanoseconds time_with_sleep();
/// "2026-11-29 04:06" where the user is.
std::string local_time(std::int64_t since_1970_s);

}  // namespace headlight::platform
