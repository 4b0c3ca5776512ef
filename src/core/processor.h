#pragma once

/// Loops for 256-bit vectors are chosen at run time: a build runs on every x86-64 and uses AVX2 and F16C if available.
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <cpuid.h>
#define HEADLIGHT_AVX2 1
#define HEADLIGHT_AVX2_TARGET __attribute__((target("avx2,f16c")))
#else
#define HEADLIGHT_AVX2 0
#define HEADLIGHT_AVX2_TARGET
#endif

namespace headlight {

/// Does this processor have AVX2 and F16C?
inline bool has_avx2() {
#if HEADLIGHT_AVX2
  static const bool kHas = [] {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    // CPUID, because __builtin_cpu_supports() has "f16c" in GCC and newer clang only. Its test of AVX2 includes that the
    // operating system saves the wide registers, which F16C needs too.
    return __builtin_cpu_supports("avx2") != 0 && __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  }();
  return kHas;
#else
  return false;
#endif
}

}  // namespace headlight
