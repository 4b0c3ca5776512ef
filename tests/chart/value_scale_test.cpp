#include "chart/plot_axis.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include <limits>
#include <vector>

namespace value_scale_test {

using namespace headlight::chart;

TEST_SUITE("cpu") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();

  TEST_CASE("an axis has air at both ends of finite numbers, a place for 0 on a log scale, and labels in place") {
    const PlotAxis axis = plot_axis(std::vector{1.0, double{kInfinity}, 3.0, std::nan("")}, 0.25);
    CHECK(axis.low == 0.5);
    CHECK(axis.high == 3.5);
    CHECK(axis.share(2.0) == 0.5F);
    for (const auto& [place, label] : axis.ticks(300.0F, 40.0F)) {
      CHECK(axis.share(std::stod(label)) == doctest::Approx(place));
      CHECK(place >= 0.0F);
      CHECK(place <= 1.0F);
    }
    CHECK(axis.ticks(300.0F, 40.0F).size() > 2);
    CHECK(plot_axis(std::vector<double>()).high == 1.0);
    CHECK(plot_axis(std::vector{2.0}).low == 1.5);
    CHECK(plot_axis(std::vector{1.0, 1.0 + 1e-12}).low == 0.5);  // no ticks of float32 are between them
    const PlotAxis decades = plot_axis(std::vector{0.0, 10.0, 1000.0}, 0.0, true);
    CHECK(decades.share(0.0) == 0.0F);
    CHECK(decades.at(0.0) == 0.5);
    CHECK(decades.share(1000.0) == 1.0F);
    CHECK_FALSE(plot_axis(std::vector{0.0}, 0.0, true).is_log);
  }

  TEST_CASE("an axis has round ticks inside of it, and one of indices whole ones") {
    const auto labels = [](const std::vector<Tick>& ticks) {
      std::vector<std::string> texts;
      for (const Tick& tick : ticks) texts.push_back(tick.label);
      return texts;
    };
    using Labels = std::vector<std::string>;
    CHECK(labels(make_axis_ticks({.low = -0.03F, .high = 0.77F}, 400.0F, 44.0F)) == Labels{"0.0", "0.2", "0.4", "0.6"});
    CHECK(labels(make_axis_ticks({.low = -0.2F, .high = 3.2F}, 400.0F, 30.0F)) ==
          Labels{"0.0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"});
    CHECK(labels(make_axis_ticks({.low = -0.2F, .high = 3.2F}, 400.0F, 30.0F, true)) == Labels{"0", "1", "2", "3"});
    CHECK(make_axis_ticks({.low = 1.0F, .high = 1.0F}, 400.0F, 30.0F).empty());
  }

  TEST_CASE("scales ignore masked cells, infinities and fills") {
    const std::vector<float> values = {-3.0F, 2.0F, -kInfinity, -1e9F, 90.0F};
    const std::vector<std::uint8_t> masked = {0, 0, 0, 0, 1};
    const ValueScale symmetric = make_scale(ScaleKind::Symmetric, values, masked);
    CHECK(symmetric.low == -3.0F);
    CHECK(symmetric.high == 3.0F);
    CHECK(symmetric.position(0.0F) == doctest::Approx(0.5F));
    CHECK(symmetric.position(-kInfinity) == 0.0F);
    CHECK(symmetric.position(1e9F) == 1.0F);
    CHECK(make_scale(ScaleKind::Maximum, values, masked).high == 2.0F);
    CHECK(make_scale(ScaleKind::Maximum, values).high == 90.0F);
    CHECK(make_scale(ScaleKind::Unit, values).high == 1.0F);
    CHECK(make_scale(ScaleKind::Quantile, values, masked).high == 2.0F);  // too few for a quantile
    std::vector<float> many(100);
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i);
    CHECK(make_scale(ScaleKind::Quantile, many).high == 98.0F);
    CHECK(join(make_scale(ScaleKind::Maximum, values), make_scale(ScaleKind::Maximum, {})).high == 90.0F);
  }

  TEST_CASE("nothing but zeros or fills still gives a scale that can divide") {
    const std::vector<float> nothing = {0.0F, -1e10F, -kInfinity};
    CHECK(make_scale(ScaleKind::Maximum, nothing).high == 1.0F);
    CHECK(make_scale(ScaleKind::Symmetric, nothing).low == -1.0F);
    CHECK(make_scale(ScaleKind::Symmetric, {}).position(0.0F) == doctest::Approx(0.5F));
  }

  TEST_CASE("a row's largest value is the end of its own scale") {
    const ValueScale scale = make_scale(ScaleKind::PerRow, {});
    const std::vector<float> row = {0.1F, 0.4F, 0.2F};
    CHECK(scale.position(0.4F, row_maximum(row)) == doctest::Approx(1.0F));
    CHECK(scale.position(0.1F, row_maximum(row)) == doctest::Approx(0.25F));
    CHECK(scale.position(0.0F, row_maximum(std::vector<float>{0.0F, 0.0F})) == 0.0F);
  }

  TEST_CASE("a colour bar has a tick at either end, and labels that don't touch") {
    const std::vector<Tick> weights = make_bar_ticks({.low = 0.0F, .high = 0.87F}, ScaleSpread::Linear, 300.0F, 11.0F);
    CHECK(weights.front().label == "0.0");
    CHECK(weights.back().label == "0.87");
    for (float high = 1e-6F; high < 1e7F; high *= 1.37F) {
      for (const float length : {24.0F, 80.0F, 340.0F, 900.0F}) {
        for (const float low : {0.0F, -high, 0.9F * high}) {
          CAPTURE(high);
          CAPTURE(low);
          CAPTURE(length);
          const std::vector<Tick> ticks = make_bar_ticks({.low = low, .high = high}, ScaleSpread::Linear, length, 11.0F);
          const std::vector<Tick> roots = make_bar_ticks({.low = low, .high = high}, ScaleSpread::Root, length, 11.0F);
          const auto root_at = [&](std::size_t i) {
            return position_in({.low = low, .high = high}, ScaleSpread::Root, roots[i].value) * length;
          };
          for (std::size_t i = 1; i < roots.size(); ++i) CHECK(root_at(i) - root_at(i - 1) >= 11.0F);
          REQUIRE(ticks.size() >= 2);
          CHECK(std::abs(ticks.front().value - low) <= 1e-3F * (high - low));
          CHECK(std::abs(ticks.back().value - high) <= 1e-3F * (high - low));
          for (std::size_t i = 1; i < ticks.size(); ++i) {
            const float apart = (ticks[i].value - ticks[i - 1].value) / (high - low) * length;
            CHECK(apart >= 11.0F);
          }
        }
      }
    }
    CHECK(make_bar_ticks({.low = 1.0F, .high = 1.0F}, ScaleSpread::Linear, 100.0F, 11.0F).empty());
  }

  TEST_CASE("a logarithmic scale spreads decades evenly and has a floor where its low end has no logarithm") {
    const ValueLimits limits{.low = 0.001F, .high = 1.0F};
    CHECK(position_in(limits, ScaleSpread::Log, 0.01F) == doctest::Approx(1.0F / 3.0F));
    CHECK(position_in(limits, ScaleSpread::Log, 0.0F) == 0.0F);
    CHECK(position_in(limits, ScaleSpread::Log, 1e-5F) == 0.0F);
    CHECK(position_in(limits, ScaleSpread::Log, 7.0F) == 1.0F);
    const ValueLimits from_zero{.low = 0.0F, .high = 1.0F};
    CHECK(log_floor(0.0F, 1.0F) == doctest::Approx(1e-4F));
    CHECK(position_in(from_zero, ScaleSpread::Log, 0.01F) == doctest::Approx(0.5F));
    CHECK(position_in(from_zero, ScaleSpread::Linear, 0.01F) == doctest::Approx(0.01F));
    CHECK(position_in(from_zero, ScaleSpread::Linear, std::numeric_limits<float>::quiet_NaN()) == 0.0F);
    const float infinity = std::numeric_limits<float>::infinity();
    for (const ScaleSpread spread : {ScaleSpread::Linear, ScaleSpread::Root, ScaleSpread::Log}) {
      CHECK(position_in({.low = -infinity, .high = infinity}, spread, infinity) == 0.0F);
      CHECK(position_in({.low = 0.5F, .high = 0.5F}, spread, 0.5F) == 0.0F);
    }
    CHECK(position_in(from_zero, ScaleSpread::Root, 0.25F) == doctest::Approx(0.5F));
    CHECK(position_in(from_zero, ScaleSpread::Root, -1.0F) == 0.0F);
    CHECK(position_in(from_zero, ScaleSpread::Root, std::numeric_limits<float>::quiet_NaN()) == 0.0F);
    for (const ScaleSpread spread : {ScaleSpread::Linear, ScaleSpread::Root, ScaleSpread::Log}) {
      for (const float place : {0.1F, 0.5F, 0.9F}) {
        CHECK(position_in(limits, spread, value_at(limits, spread, place)) == doctest::Approx(place));
      }
      CHECK(value_at(limits, spread, 1.0F) == doctest::Approx(1.0F));
    }
  }

  TEST_CASE("logarithmic ticks are powers of ten, or their halves and fifths where there are few") {
    const auto log_bar = [](float low, float high, float length) {
      return make_bar_ticks({.low = low, .high = high}, ScaleSpread::Log, length, 11.0F);
    };
    const std::vector<Tick> decades = log_bar(0.0F, 1.0F, 400.0F);
    REQUIRE(decades.size() == 5);
    CHECK(decades[0].label == "0.0001");
    CHECK(decades[4].label == "1");
    CHECK(log_bar(0.0F, 1.0F, 88.0F).size() <= 3);
    CHECK(log_bar(0.0F, 1.0F, 88.0F).back().label == "1");
    const std::vector<Tick> narrow = log_bar(0.0195F, 0.0705F, 400.0F);
    const auto has = [&](const char* label) { return std::ranges::find(narrow, label, &Tick::label) != narrow.end(); };
    CHECK(has("0.05"));
    const std::vector<Tick> bar = make_bar_ticks({.low = 0.021F, .high = 0.048F}, ScaleSpread::Log, 300.0F, 11.0F);
    REQUIRE(bar.size() >= 2);
    CHECK(bar.front().label == "0.021");
    CHECK(bar.back().label == "0.048");
    for (float high = 1e-5F; high < 2.0F; high *= 1.9F) {
      for (const float length : {44.0F, 88.0F, 176.0F, 352.0F}) {
        const std::vector<Tick> ticks = log_bar(0.0F, high, length);
        CHECK(ticks.size() >= 2);
        CHECK(static_cast<float>(ticks.size()) <= length / 44.0F + 3.0F);
        for (std::size_t i = 1; i < ticks.size(); ++i) CHECK(ticks[i].value > ticks[i - 1].value);
      }
    }
  }

  TEST_CASE("ticks are round, few, inside and ascending") {
    const auto bar = [](float low, float high, float length) {
      return make_bar_ticks({.low = low, .high = high}, ScaleSpread::Linear, length, 11.0F);
    };
    const std::vector<Tick> unit = bar(0.0F, 1.0F, 220.0F);
    REQUIRE(unit.size() == 6);
    CHECK(unit[1].label == "0.2");
    CHECK(unit[5].label == "1.0");
    const std::vector<Tick> signed_ticks = bar(-3.7F, 3.7F, 176.0F);
    REQUIRE(signed_ticks.size() == 5);  // with one at either end
    CHECK(signed_ticks[1].label == "−2");
    CHECK(signed_ticks[2].label == "0");
    for (float high = 1e-6F; high < 1e7F; high *= 1.37F) {
      for (const float length : {44.0F, 88.0F, 176.0F, 352.0F}) {
        for (const float low : {0.0F, -high}) {
          CAPTURE(high);
          CAPTURE(length);
          const std::vector<Tick> ticks = bar(low, high, length);
          CHECK(ticks.size() >= 2);
          CHECK(static_cast<float>(ticks.size()) <= length / 44.0F + 3.0F);
          for (std::size_t i = 0; i < ticks.size(); ++i) {
            CHECK(ticks[i].value >= low);
            CHECK(ticks[i].value <= high);
            if (i > 0) {
              CHECK(ticks[i].value > ticks[i - 1].value);
              CHECK(ticks[i].label != ticks[i - 1].label);
            }
          }
        }
      }
    }
    CHECK(bar(1.0F, 1.0F, 176.0F).empty());
  }
}

}  // namespace value_scale_test
