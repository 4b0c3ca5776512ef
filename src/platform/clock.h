#pragma once

#include <chrono>

namespace headlight::platform {

/// Processor time of the calling thread.
std::chrono::nanoseconds thread_time();
/// Since some moment: a clock that stands still while the computer is suspended.
std::chrono::nanoseconds time_awake();
/// Since the same moment, with the time of suspension; time_awake() where the system has no such clock.
std::chrono::nanoseconds time_with_sleep();

}  // namespace headlight::platform
