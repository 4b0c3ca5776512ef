// A library that LD_PRELOAD puts in front of the C library: once the file named by HEADLIGHT_CLOCK_JUMP exists,
// CLOCK_BOOTTIME is an hour ahead of where it was, as after a computer was suspended for so long. CLOCK_MONOTONIC is as
// ever.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const auto next = reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = next(clock, now);
  constexpr time_t kHour = 3600;
  const char* file = std::getenv("HEADLIGHT_CLOCK_JUMP");
  if (result == 0 && clock == CLOCK_BOOTTIME && file != nullptr && access(file, F_OK) == 0) now->tv_sec += kHour;
  return result;
}
