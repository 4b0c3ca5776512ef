// How well rows of attention match a pattern, by hand.
#include "evaluation/pattern_meter.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace pattern_meter_test {

using namespace headlight::evaluation;

namespace {

using Flags = std::vector<std::uint8_t>;
using Row = std::vector<float>;

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the mass of a pattern is averaged over the queries that see one of its keys") {
    // Causal, of three tokens; the pattern is k = q − 1, which the first query has no key of.
    PatternMeter meter;
    meter.add(Row{1.0F, 0.0F, 0.0F}, Flags{0, 1, 1}, Flags{0, 0, 0});
    meter.add(Row{0.75F, 0.25F, 0.0F}, Flags{0, 0, 1}, Flags{1, 0, 0});
    meter.add(Row{0.125F, 0.5F, 0.375F}, Flags{0, 0, 0}, Flags{0, 1, 0});
    const auto match = meter.match();
    REQUIRE(match);
    CHECK(match->queries == 2);
    CHECK(match->mass == 0.625);
    CHECK(std::abs(match->chance - (1.0 / 2 + 1.0 / 3) / 2) < 1e-15);
  }

  TEST_CASE("keys that the mask hides are no keys of a pattern") {
    PatternMeter meter;
    meter.add(Row{0.5F, 0.5F, 0.0F}, Flags{0, 0, 1}, Flags{0, 0, 1});
    CHECK_FALSE(meter.match());
    meter.add(Row{0.5F, 0.5F, 0.0F}, Flags{0, 0, 1}, Flags{0, 1, 1});
    REQUIRE(meter.match());
    CHECK(meter.match()->mass == 0.5);
    CHECK(meter.match()->chance == 0.5);
    CHECK(meter.match()->queries == 1);
  }

  TEST_CASE("without a mask every key is seen") {
    PatternMeter meter;
    meter.add(Row{0.25F, 0.25F, 0.25F, 0.25F}, {}, Flags{1, 1, 0, 0});
    REQUIRE(meter.match());
    CHECK(meter.match()->mass == meter.match()->chance);
  }

  TEST_CASE("a part of a row counts whole, also where it is 0") {
    PatternMeter meter;
    meter.add_part(Row{0.25F, 0.5F});
    meter.add_part(Row{0.0F, 0.0F});
    REQUIRE(meter.match());
    CHECK(meter.match()->mass == 0.375);
    CHECK(meter.match()->queries == 2);
  }

  TEST_CASE("evenness is what attention shares with uniform attention over the visible keys") {
    PatternMeter even, single;
    even.add_evenness(Row{0.5F, 0.5F, 0.0F}, Flags{0, 0, 1});
    REQUIRE(even.match());
    CHECK(even.match()->mass == 1.0);
    single.add_evenness(Row{1.0F, 0.0F, 0.0F, 0.0F}, {});
    single.add_evenness(Row{1.0F, 0.0F, 0.0F, 0.0F}, Flags{0, 1, 1, 1});  // one key: nothing to choose
    REQUIRE(single.match());
    CHECK(single.match()->mass == 0.25);
    CHECK(single.match()->queries == 1);
  }

  TEST_CASE("a weight that isn't finite makes no number") {
    const float none = std::numeric_limits<float>::quiet_NaN();
    PatternMeter meter, even;
    meter.add(Row{none, 0.5F}, {}, Flags{1, 0});
    CHECK_FALSE(meter.match());
    even.add_evenness(Row{none, 0.5F}, {});
    CHECK_FALSE(even.match());
    CHECK_FALSE(PatternMeter().match());
  }
}

}  // namespace pattern_meter_test
