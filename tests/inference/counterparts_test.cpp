#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "inference/counterparts.h"

namespace counterparts_test {

using namespace headlight::inference;

namespace {

constexpr std::uint32_t kNone = kNoCounterpart;

/// A letter a token.
std::vector<std::uint32_t> pairs_of(const std::string& text, const std::string& other) {
  return counterparts(std::vector<std::uint32_t>(text.begin(), text.end()),
                      std::vector<std::uint32_t>(other.begin(), other.end()));
}

using Pairs = std::vector<std::uint32_t>;

}  // namespace

TEST_SUITE_BEGIN("cpu");

TEST_CASE("equal tokens are counterparts, replaced ones from their end backwards, others have none") {
  CHECK(pairs_of("abc", "abc") == Pairs{0, 1, 2});
  CHECK(pairs_of("abc", "axc") == Pairs{0, 1, 2});          // replaced
  CHECK(pairs_of("abc", "abxc") == Pairs{0, 1, 3});         // inserted there
  CHECK(pairs_of("abxc", "abc") == Pairs{0, 1, kNone, 2});  // inserted here
  CHECK(pairs_of("axyd", "azd") == Pairs{0, kNone, 1, 2});  // two for one: the last is its counterpart
  CHECK(pairs_of("azd", "axyd") == Pairs{0, 2, 3});
  CHECK(pairs_of("abcd", "bcde") == Pairs{kNone, 0, 1, 2});  // shifted
  CHECK(pairs_of("xabyabz", "abab") == Pairs{kNone, 0, 1, kNone, 2, 3, kNone});
  CHECK(pairs_of("abc", "xyz") == Pairs{0, 1, 2});
  CHECK(pairs_of("abc", "z") == Pairs{kNone, kNone, 0});
  CHECK(pairs_of("", "abc") == Pairs{});
  CHECK(pairs_of("abc", "") == Pairs{kNone, kNone, kNone});
  CHECK(pairs_of("aaaa", "aa") == Pairs{0, 1, kNone, kNone});
}

TEST_CASE("counterparts ascend, and long texts that differ in the middle are paired by their ends") {
  std::vector<std::uint32_t> text, other;
  for (std::uint32_t i = 0; i < 5'000; ++i) text.push_back(i * 2'654'435'761U % 50'000U);
  other = text;
  other.insert(other.begin() + 2'500, {1, 2, 3});  // both ends are the same: an insertion
  std::vector<std::uint32_t> found = counterparts(text, other);
  for (std::uint32_t i = 0; i < text.size(); ++i) CHECK(found[i] == (i < 2'500 ? i : i + 3));
  std::ranges::reverse(other.begin() + 100, other.end() - 100);  // too long to look for common tokens between
  found = counterparts(text, other);
  for (std::size_t i = 1; i < found.size(); ++i) {
    CHECK((found[i] == kNone || found[i - 1] == kNone || found[i] > found[i - 1]));
  }
  CHECK(found[99] == 99);
  CHECK(found.back() == other.size() - 1);
}

TEST_CASE("padded lines are paired within their line, by their places") {
  headlight::model::ModelInput input, other;
  input.source = {.batch = 2, .length = 3, .lengths = {3, 2}, .starts = {0, 1}, .ids = {1, 2, 3, 99, 4, 5}};
  other.source = {.batch = 2, .length = 4, .lengths = {4, 2}, .starts = {0, 0}, .ids = {1, 7, 2, 3, 4, 6, 99, 99}};
  const auto pairs = input_counterparts(input, other, TokenIdentity::Id);
  REQUIRE(pairs);
  CHECK(pairs->source == InputCounterparts::Items{{0, 2, 3}, {kNone, 0, 1}});
  CHECK_FALSE(covers(*pairs, other));
  CHECK(covers(*input_counterparts(other, input, TokenIdentity::Id), input));
  CHECK(input_counterparts(input, input, TokenIdentity::Id) == nullptr);
}

TEST_SUITE_END();

}  // namespace counterparts_test
