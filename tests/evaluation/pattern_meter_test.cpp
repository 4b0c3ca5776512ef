// Matches of rows of attention with a pattern, by hand.
#include "evaluation/head_meter.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace pattern_meter_test {

using namespace headlight::evaluation;

namespace {

using Flags = std::vector<std::uint8_t>;
using Keys = std::vector<std::uint32_t>;
using Row = std::vector<double>;

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the mass of a pattern is averaged over the queries that have one of its keys") {
    // The text has three tokens; the pattern is k = q − 1, of which the first query has no key.
    PatternMeter meter;
    meter.add(Row{1.0, 0.0, 0.0}, 1.0, Keys{}, 1.0);
    CHECK_FALSE(meter.match());
    CHECK(meter.mass() == 0.0);
    meter.add(Row{0.75, 0.25, 0.0}, 1.0, Keys{0}, 0.5);
    meter.add(Row{0.125, 0.5, 0.375}, 1.0, Keys{1}, 0.25);
    const auto match = meter.match();
    REQUIRE(match);
    CHECK(match->queries == 2);
    CHECK(match->mass == 0.625);
    CHECK(match->chance == 0.375);
    CHECK(meter.mass() == 0.625);
  }

  TEST_CASE("a query whose keys get nothing counts, and several keys of one are added") {
    PatternMeter meter;
    meter.add(Row{0.25, 0.5, 0.25}, 1.0, Keys{0, 1});
    meter.add(Row{0.0, 0.0, 1.0}, 1.0, Keys{0, 1});
    REQUIRE(meter.match());
    CHECK(meter.match()->mass == 0.375);
    CHECK(meter.match()->queries == 2);
  }

  TEST_CASE("evenness is what attention shares with uniform attention over the visible keys") {
    PatternMeter even, single;
    even.add_evenness(Row{0.5, 0.5, 0.0}, Flags{0, 0, 1});
    REQUIRE(even.match());
    CHECK(even.match()->mass == 1.0);
    single.add_evenness(Row{1.0, 0.0, 0.0, 0.0}, {});
    single.add_evenness(Row{1.0, 0.0, 0.0, 0.0}, Flags{0, 1, 1, 1});  // one key: nothing to choose
    REQUIRE(single.match());
    CHECK(single.match()->mass == 0.25);
    CHECK(single.match()->queries == 1);
  }

  TEST_CASE("a weight that isn't finite makes no number, wherever it is in the map") {
    const double none = std::numeric_limits<double>::quiet_NaN();
    PatternMeter meter, beside, even;
    meter.add(Row{none, 0.5}, none, Keys{0});
    CHECK_FALSE(meter.match());
    CHECK(std::isnan(meter.mass()));
    beside.add(Row{0.5, 0.5}, 1.0, Keys{0});
    beside.add(Row{0.5, none}, none, Keys{});
    CHECK_FALSE(beside.match());
    even.add_evenness(Row{none, 0.5}, {});
    CHECK_FALSE(even.match());
    CHECK_FALSE(PatternMeter().match());
  }
}

}  // namespace pattern_meter_test
