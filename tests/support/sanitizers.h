#pragma once

/// 1 where the sanitizer is compiled in: GCC defines a macro then, clang 14 only answers __has_feature.
#define HEADLIGHT_HAS_ADDRESS_SANITIZER 0
#define HEADLIGHT_HAS_THREAD_SANITIZER 0
#if defined(__SANITIZE_ADDRESS__)
#undef HEADLIGHT_HAS_ADDRESS_SANITIZER
#define HEADLIGHT_HAS_ADDRESS_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#undef HEADLIGHT_HAS_THREAD_SANITIZER
#define HEADLIGHT_HAS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#undef HEADLIGHT_HAS_ADDRESS_SANITIZER
#define HEADLIGHT_HAS_ADDRESS_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#undef HEADLIGHT_HAS_THREAD_SANITIZER
#define HEADLIGHT_HAS_THREAD_SANITIZER 1
#endif
#endif

namespace headlight::test {

/// Returns how many of `count` random cases a test tries: all in a release build, a fifth of them where each takes five
/// times as long.
constexpr int random_cases(int count) { return HEADLIGHT_HAS_ADDRESS_SANITIZER != 0 ? count / 5 : count; }

}  // namespace headlight::test
