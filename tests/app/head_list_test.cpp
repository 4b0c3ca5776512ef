// The list of heads and what is said of them, without a window.
#include "app/widgets/head_tools.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "app/engine/analyses/head_metric_text.h"
#include "app/engine/analyses/head_metrics.h"
#include "app/engine/analyses/head_table.h"

namespace head_list_test {

using namespace headlight;
using namespace headlight::app;
using evaluation::HeadMetric;

namespace {

constexpr model::BlockRef kFirst{.kind = model::BlockKind::EncoderSelf, .layer = {0}};
constexpr model::BlockRef kSecond{.kind = model::BlockKind::EncoderSelf, .layer = {1}};
constexpr model::BlockRef kCross{.kind = model::BlockKind::Cross, .layer = {0}};

BlockShapes shapes() {
  const inference::BlockShape shape{.batch = 1, .heads = 2, .queries = 3, .keys = 3};
  return {{kFirst, shape}, {kSecond, shape}, {kCross, shape}};
}

/// A head of three tokens, of which the last two give this weight to the token before and the rest to themselves.
evaluation::HeadMetrics head_with(double previous) {
  static const evaluation::TokenRepeats kTokens(std::vector<std::uint32_t>{1, 2, 3});
  evaluation::HeadMeter meter(kTokens);
  meter.add(0, std::vector<double>{1.0, 0.0, 0.0}, 1);
  meter.add(1, std::vector<double>{previous, 1.0 - previous, 0.0}, 2);
  meter.add(2, std::vector<double>{0.0, previous, 1.0 - previous}, 3);
  return meter.metrics();
}

HeadMetricsFound found() {
  HeadMetricsFound found;
  found.all_heads = 4;
  found.queries = found.measured_queries = 3;
  found.heads = {{{kFirst, 0}, head_with(0.3)}, {{kFirst, 1}, head_with(1.0)}, {{kSecond, 0}, head_with(0.6)}};
  return found;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("heads are listed by layer, by a metric from either end, filtered, and pinned alone") {
    const HeadMetricsFound known = found();
    using Heads = std::vector<HeadRef>;
    HeadChoices choices;
    const auto list = [&](const HeadMetricsFound* metrics) {
      return listed_heads(shapes(), model::BlockKind::EncoderSelf, choices, metrics);
    };
    const Heads by_layer = {{kFirst, 0}, {kFirst, 1}, {kSecond, 0}, {kSecond, 1}};
    CHECK(list(&known) == by_layer);
    choices.order = HeadMetric::PreviousToken;
    CHECK(list(&known) == Heads{{kFirst, 1}, {kSecond, 0}, {kFirst, 0}, {kSecond, 1}});  // the last isn't measured
    CHECK(list(nullptr) == by_layer);
    choices.lowest_first = true;
    CHECK(list(&known) == Heads{{kFirst, 0}, {kSecond, 0}, {kFirst, 1}, {kSecond, 1}});
    choices.order = HeadMetric::DuplicateToken;  // no token comes twice
    CHECK(list(&known) == by_layer);
    choices.order.reset();
    choices.filter = HeadMetric::PreviousToken;
    choices.least = 0.3f;
    CHECK(list(&known) == Heads{{kFirst, 1}, {kSecond, 0}});
    CHECK(list(nullptr).empty());
    choices.filter.reset();
    choices.only_pinned = true;
    toggle_pin(choices, {kSecond, 1});
    toggle_pin(choices, {kCross, 0});
    CHECK(list(&known) == Heads{{kSecond, 1}});
  }

  TEST_CASE("the best head of a metric, and none where it is defined for none") {
    CHECK(best_head(found(), HeadMetric::PreviousToken) == HeadRef{kFirst, 1});
    CHECK_FALSE(best_head(found(), HeadMetric::Induction).has_value());
    CHECK_FALSE(best_head(HeadMetricsFound(), HeadMetric::Sink).has_value());
  }

  TEST_CASE("what is said of a head names what it does most, and where it does nothing clearly says so") {
    // Both queries that have a token before them give all to it.
    CHECK(plain_text(head_sentence({kFirst, 1}, head_with(1.0))) == "L0 H1 looks at the previous token: 1.00");
    CHECK(badge_text(head_with(1.0)) == "prev 1.00");
    CHECK(plain_text(head_sentence({kFirst, 0}, head_with(0.3))) ==
          "L0 H0 shows no clear pattern: previous token 0.30, sink 0.43");
    CHECK(badge_text(head_with(0.3)).empty());
    CHECK(metrics_text(head_with(1.0), {}) ==
          "previous 1.00 \u00B7 sink 0.67 \u00B7 concentration 1.00 "
          "\u00B7 evenness 0.00 \u00B7 entropy 0.00 nats \u00B7 distance 0.7 tokens");
    const evaluation::PatternScoring mul{.measure = evaluation::PatternMeasure::Mul};
    CHECK(metrics_text(head_with(1.0), mul).starts_with("previous mul 0.67 \u00B7 sink "));
    CHECK(metric_number(HeadMetric::Distance, 12.345) == "12.3");
    CHECK(metric_number(HeadMetric::Sink, -0.001) == "0.00");
    CHECK(metric_number(HeadMetric::Sink, std::nullopt) == "\u2013");
  }

  TEST_CASE("a head between two texts that gives each query's weight to one key isn't said to do nothing clear") {
    const auto between = [](double largest) {
      evaluation::HeadMeter meter;  // without repeats: queries and keys are of two texts
      for (std::uint32_t query = 0; query < 3; ++query) {
        std::vector<double> row(3, (1.0 - largest) / 2.0);
        row[(query + 1) % 3] = largest;
        meter.add(query, row, 3);
      }
      return meter.metrics();
    };
    CHECK(plain_text(head_sentence({kCross, 1}, between(0.8))) == "L0 H1 puts its attention on single tokens: 0.80");
    CHECK(head_word(between(0.8)) == "single tokens");
    CHECK(badge_text(between(0.8)).empty());
    CHECK(plain_text(head_sentence({kCross, 1}, between(0.6))) ==
          "L0 H1 shows no clear pattern: concentration 0.60, sink 0.33");
    CHECK(head_word(between(0.6)) == kNoWord);
    CHECK(head_word(between(0.8), false) == "random");
    CHECK(head_word(head_with(1.0)) == "previous token");
    CHECK(head_word(head_with(0.3)) == kNoWord);
  }

  TEST_CASE("a head that looks at its pattern where it can, and at the first token elsewhere, does what its pattern says") {
    // Only the last of eight queries has seen its token before; the head gives 0.784 to what followed it.
    const evaluation::TokenRepeats tokens(std::vector<std::uint32_t>{9, 1, 2, 3, 4, 5, 6, 1});
    evaluation::HeadMeter meter(tokens);
    for (std::uint32_t query = 0; query < 8; ++query) {
      std::vector<double> row(8, 0.0);
      row[0] = query == 7 ? 0.216 : 1.0;
      row[2] += query == 7 ? 0.784 : 0.0;
      meter.add(query, row, query + 1);
    }
    const evaluation::HeadMetrics metrics = meter.metrics();
    CHECK(metrics.value(HeadMetric::Sink).value() == doctest::Approx(7.216 / 8.0).epsilon(1e-12));
    CHECK(badge_text(metrics) == "ind 0.78");
    CHECK(plain_text(head_sentence({kFirst, 0}, metrics)) == "L0 H0 looks at what followed the same token earlier: 0.78");
  }

  TEST_CASE("coverage says what isn't measured") {
    HeadMetricsFound known = found();
    CHECK(coverage_text({}) == "measuring\u2026");
    CHECK(coverage_text({.error = "no"}) == "no");
    CHECK(coverage_text({.found = &known}) == "3 of 4 heads measured");
    known.heads[{kSecond, 1}] = head_with(0.0);
    CHECK(coverage_text({.found = &known}).empty());
    known.queries = 8'192;
    known.measured_queries = 512;
    CHECK(coverage_text({.found = &known}) == "sampled: 512 of 8,192 queries, in strips at equal distances");
  }

  TEST_CASE("the table as CSV has every metric, and nothing where one isn't defined") {
    const HeadMetricsFound measured = found();
    const Table table = head_table({{kFirst, 1}, {kSecond, 1}}, &measured, nullptr, {});
    CHECK(csv(table, all_rows(table)) ==
          "kind,layer,head,previous,duplicate,induction,sink,concentration,evenness,entropy,distance\n"
          "encoder,0,1,1,,,0.666666667,1,0,0,0.666666667\n"
          "encoder,1,1,,,,,,,,\n");
  }
}

}  // namespace head_list_test
