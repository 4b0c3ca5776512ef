// The number of passes that are computed together, by the time that they took.
#include <doctest/doctest.h>

#include "app/engine/copy_count.h"

namespace copy_count_test {

using namespace headlight::app;

namespace {

const headlight::model::Layers kLayers;

CopyCount of_tokens(std::uint32_t tokens) {
  CopyCount count;
  count.begin({.layers = &kLayers, .tokens = tokens});
  return count;
}

/// Measures what is asked for until it stays, with the time that a pass of so many copies takes; returns what stays.
template <typename Time>
std::size_t settled(CopyCount& count, std::size_t most, Time time) {
  for (int i = 0; i < 20; ++i) {
    const std::size_t passes = count.next(most);
    REQUIRE(passes >= 1);
    REQUIRE(passes <= most);
    count.measured(passes, time(passes), 4);
  }
  return count.next(most);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("one pass alone comes first; more are tried as long as a pass gets faster by it") {
    CopyCount count = of_tokens(64);
    CHECK(count.next(8) == 1);
    // Each pass costs the same however many are computed at once: so the more the better.
    CHECK(settled(count, 32, [](std::size_t) { return 1.0; }) == 32);
    CHECK(count.next(12) == 8);
    CHECK(count.next(1) == 1);
    CHECK(count.next(0) == 1);
  }

  TEST_CASE("where copies cost what passes cost one by one, they are computed one by one") {
    CopyCount count = of_tokens(64);
    CHECK(settled(count, 32, [](std::size_t passes) { return 2.0 * static_cast<double>(passes); }) == 1);
  }

  TEST_CASE("copies that get slower from some number on stay below it") {
    CopyCount count = of_tokens(64);
    const auto time = [](std::size_t passes) { return passes <= 4 ? 1.0 : static_cast<double>(passes); };
    CHECK(settled(count, 32, time) == 4);
  }

  TEST_CASE("a keystroke waits 50 ms at most, and a batch has the tokens of 4,096 at most") {
    CopyCount slow = of_tokens(64);
    CHECK(settled(slow, 32, [](std::size_t passes) { return 20.0 + static_cast<double>(passes); }) == 8);
    CopyCount long_text = of_tokens(1'500);
    CHECK(settled(long_text, 32, [](std::size_t) { return 1.0; }) == 2);
    CopyCount longer = of_tokens(9'000);
    CHECK(settled(longer, 32, [](std::size_t) { return 1.0; }) == 1);
  }

  TEST_CASE("no memory for more is remembered until the text or the network is another one") {
    CopyCount count = of_tokens(60);
    count.limit(2);
    CHECK(settled(count, 32, [](std::size_t) { return 1.0; }) == 2);
    count.begin({.layers = &kLayers, .tokens = 64});  // as large, as far as it matters
    CHECK(count.next(32) == 2);
    count.begin({.layers = &kLayers, .tokens = 65});
    CHECK(count.next(32) == 1);
    CHECK(settled(count, 32, [](std::size_t) { return 1.0; }) == 32);
  }
}

}  // namespace copy_count_test
