#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

namespace headlight::test {

/// Says why a test case, or the rest of it, checks nothing on this machine. With HEADLIGHT_NO_SKIPS, as .ci/run sets it,
/// that is a failure.
inline void skip(const std::string& why) {
  if (std::getenv("HEADLIGHT_NO_SKIPS") != nullptr) FAIL_CHECK("skipped: " << why);
  MESSAGE("skipped: " << why);
}

}  // namespace headlight::test
