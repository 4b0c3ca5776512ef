// Analyses of the baseline beside those of the present one; passes that are computed together; means of the baseline.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/engine/analyses/head_knockouts.h"
#include "app/engine/analyses/head_metrics.h"
#include "app/engine/analyses/logit_attribution.h"
#include "app/engine/analyses/token_flow.h"
#include "engine/counting_runner.h"
#include "engine/two_runs.h"
#include "inference/reference_run.h"

namespace baseline_analyses_gpu_test {

using namespace headlight;
using namespace headlight::app;
namespace reference = model::reference;

namespace {

const Ids kText = {5, 9, 2, 7, 5, 9, 11}, kOther = {5, 3, 2, 7, 6, 9, 11};

AnalysisQuery of_baseline(AnalysisQuery query) {
  query.is_of_baseline = true;
  return query;
}

/// ln of the sum of exponentials, over one row.
double log_sum(std::span<const double> row) {
  double sum = 0.0;
  for (const double logit : row) sum += std::exp(logit);
  return std::log(sum);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("of the baseline an analysis finds what it found while that was the present one") {
    const State baseline = text_of("gpt2", kText), present = text_of("gpt2", kOther);
    const auto metrics_of = [&](const HeadMetricsFound& found) {
      std::vector<double> values;
      for (const auto& [head, metrics] : found.heads) {
        for (std::size_t i = 0; i < evaluation::kHeadMetrics; ++i) {
          values.push_back(metrics.value(static_cast<evaluation::HeadMetric>(i), {}).value_or(-1.0));
        }
      }
      return values;
    };
    const AnalysisQuery metrics = HeadMetricsQuestion(), parts = LogitQuestion{.position = 6, .token = 3},
                        flow = FlowQuestion{.position = 6, .least = 10};
    const AnalysisQuery knockouts = knockout_query({}, 0, 6, 3, 8);
    TwoRuns alone, both;
    const auto then_metrics = alone.find<HeadMetricsFound>(baseline, baseline, metrics);
    const auto then_parts = alone.find<LogitAttribution>(baseline, baseline, parts);
    const auto then_flow = alone.find<TokenFlowFound>(baseline, baseline, flow);
    const auto then_knockouts = alone.find<HeadKnockouts>(baseline, baseline, knockouts);

    const auto found_metrics = both.find<HeadMetricsFound>(present, baseline, of_baseline(metrics));
    CHECK(metrics_of(found_metrics) == metrics_of(then_metrics));
    CHECK(metrics_of(both.find<HeadMetricsFound>(present, baseline, metrics)) != metrics_of(then_metrics));
    const auto found_parts = both.find<LogitAttribution>(present, baseline, of_baseline(parts));
    CHECK(found_parts.logit == then_parts.logit);
    CHECK(found_parts.sum() == then_parts.sum());
    CHECK(both.find<LogitAttribution>(present, baseline, parts).logit != then_parts.logit);
    const auto found_flow = both.find<TokenFlowFound>(present, baseline, of_baseline(flow));
    const auto edges = attribution::routes(found_flow.shares, 6, 0.05),
               edges_then = attribution::routes(then_flow.shares, 6, 0.05);
    REQUIRE(edges.size() == edges_then.size());
    REQUIRE(!edges.empty());
    for (std::size_t i = 0; i < edges.size(); ++i) CHECK(edges[i].share == edges_then[i].share);
    const auto found_knockouts = both.find<HeadKnockouts>(present, baseline, of_baseline(knockouts));
    REQUIRE(found_knockouts.is_complete());
    for (const auto& [head, numbers] : then_knockouts.without) {
      CHECK(found_knockouts.without.at(head).logit == doctest::Approx(numbers.logit).epsilon(1e-6));  // observed: equal
    }
  }

  TEST_CASE("what was found of the baseline stays while the present one changes, and goes with the baseline") {
    const State baseline = text_of("gpt2", kText);
    State present = text_of("gpt2", kOther);
    const AnalysisQuery query = of_baseline(LogitQuestion{.position = 6, .token = 3});
    TwoRuns runs;
    const EngineResult first = runs.ask(present, baseline, {query});
    REQUIRE(first.analysed(query));
    set_head_gain(present, {.kind = model::BlockKind::EncoderSelf, .layer = {0}}, 1, 0.0F);
    const EngineResult second = runs.ask(present, baseline, {query});
    REQUIRE(second.analysed(query));
    CHECK(second.run > first.run);
    CHECK(second.analysed(query)->result == first.analysed(query)->result);  // not computed again
    State other = baseline;
    set_head_gain(other, {.kind = model::BlockKind::EncoderSelf, .layer = {1}}, 1, 0.0F);
    const EngineResult third = runs.ask(present, other, {query});
    REQUIRE(third.analysed(query));
    CHECK(third.analysed(query)->as<LogitAttribution>()->logit != first.analysed(query)->as<LogitAttribution>()->logit);
    CHECK(runs.ask(present, std::nullopt, {query}).analysed(query) == nullptr);
    const EngineResult shorter = runs.ask(text_of("gpt2", {5, 9, 2}), baseline, {query});  // of whose own token the query is
    REQUIRE(shorter.analysed(query));
    CHECK(shorter.analysed(query)->as<LogitAttribution>()->logit ==
          doctest::Approx(first.analysed(query)->as<LogitAttribution>()->logit).epsilon(1e-5));
    State lines = text_of("gpt2", {5, 9, 2});
    lines.model().ids.push_back({5});
    const EngineResult batch = runs.ask(lines, baseline, {query});
    CHECK(batch.analysed(query) == nullptr);
    CHECK(batch.baseline_error.find("7 queries") != std::string::npos);
  }

  TEST_CASE("heads of a layer are knocked out together, and give the numbers of passes one by one") {
    for (const std::string model : {"gpt2", "marian"}) {
      CAPTURE(model);
      const State state = text_of(model, kText, model == "marian" ? kText : Ids());
      const auto found_by = [&](CountingRunner::Counts& counts, const AnalysisQuery& query) {
        const auto shared = std::make_shared<CountingRunner::Counts>();
        EngineWorker worker{{.open = [&](const std::string&) { return std::make_unique<CountingRunner>(shared); },
                             .tile_bytes = kDefaultTileBytes,
                             .models = std::make_shared<ModelCache>(),
                             .watch_load = [](std::size_t, std::size_t) { return true; }}};
        worker.open("");
        worker.begin({.revision = 1, .inputs = run_inputs(state), .queries = {query}});
        while (worker.has_more()) worker.evaluate_some();
        const EngineResult result = worker.snapshot();
        REQUIRE(result.error == "");
        REQUIRE(result.analysed(query));
        counts = *shared;
        return found_in<HeadKnockouts>(*result.analysed(query));
      };
      for (const KnockoutMeasure measure : {KnockoutMeasure::Logit, KnockoutMeasure::Loss}) {
        const AnalysisQuery query = knockout_query(Choices().set(kWhatIfView.measure, measure), 0, 4, 3, 8);
        CountingRunner::Counts counts;
        const HeadKnockouts together = found_by(counts, query);
        REQUIRE(together.is_complete());
        CHECK(counts.copies >= 2);  // two are tried at least, however long they take
        CHECK(static_cast<std::size_t>(counts.alone) + counts.copies == together.all_heads + 1);
        GpuRunner alone("");
        RunSource sources;
        const RunSource::Source& source = sources.build(run_inputs(state));
        alone.load(source.network->layers, inference::Precision::F32, {});
        const inference::PassInputs pass{.network = source.network, .input = *source.input, .masks = state.masks};
        const auto& ids = source.input->target ? source.input->target->ids : source.input->source.ids;
        for (const auto& [head, numbers] : together.without) {
          inference::PassInputs changed = pass;
          changed.interventions = {
              {.scope = inference::scope_of(head.block, head.head), .operation = inference::Scale{.gain = 0.0F}}};
          const Tensor logits = alone.run(std::move(changed), nullptr)->logits();
          const std::size_t width = logits.shape.back();
          const auto row = [&](std::size_t at) { return std::span(logits.values).subspan(at * width, width); };
          if (measure == KnockoutMeasure::Logit) {
            const double right = double{row(4)[3]} - double{row(4)[8]};
            CHECK(std::abs(numbers.logit - right) <= 1e-6 * std::max(1.0, std::abs(right)));  // observed: equal
            continue;
          }
          double loss = 0.0;
          for (std::size_t at = 0; at + 1 < ids.size(); ++at) {
            const std::vector<double> exact(row(at).begin(), row(at).end());
            loss += (log_sum(exact) - exact[ids[at + 1]]) / static_cast<double>(ids.size() - 1);
          }
          CHECK(std::abs(numbers.loss - loss) <= 1e-6 * loss);
        }
      }
    }
  }

  TEST_CASE("a head that gives its mean over the baseline: against the double-precision reference") {
    const State present = text_of("gpt2", kText), baseline = text_of("gpt2", kOther);
    TwoRuns runs;
    const Choices choices = Choices().set(kWhatIfView.ablation, Ablation::BaselineMean);
    const auto found = runs.find<HeadKnockouts>(present, baseline, knockout_query(choices, 0, 6, 3, 8));
    REQUIRE(found.is_complete());
    RunSource of_present, of_other;
    const RunSource::Source source = of_present.build(run_inputs(present)), other = of_other.build(run_inputs(baseline));
    const auto looks_back = [](model::BlockRef, std::uint32_t, std::uint32_t, std::uint32_t query, std::uint32_t key) {
      return key <= query;
    };
    const double fill = -std::numeric_limits<double>::infinity();
    std::map<model::BlockRef, reference::Array> outputs;  // [1, head, token, d_v] of the baseline's text
    reference::run(*other.network, *other.input, looks_back, fill,
                   [&](model::BlockRef block, model::Site site, reference::Array& values) {
                     if (site == model::Site::HeadOutput) outputs[block] = values;
                   });
    double worst = 0.0;
    for (const auto& [of_head, numbers] : found.without) {
      const auto give_mean = [&, head = of_head](model::BlockRef block, model::Site site, reference::Array& values) {
        if (block != head.block || site != model::Site::HeadOutput) return;
        const std::size_t tokens = values.shape[2], width = values.shape[3], at = head.head * tokens * width;
        const std::vector<double>& then = outputs.at(block).values;
        for (std::size_t i = 0; i < width; ++i) {
          double mean = 0.0;
          for (std::size_t token = 0; token < tokens; ++token)
            mean += then[at + token * width + i] / static_cast<double>(tokens);
          for (std::size_t token = 0; token < tokens; ++token) values.values[at + token * width + i] = mean;
        }
      };
      const reference::Array logits = reference::run(*source.network, *source.input, looks_back, fill, give_mean).logits;
      const std::size_t width = logits.shape[2];
      const std::span<const double> row = std::span(logits.values).subspan(6 * width, width);
      const double right = row[3] - row[8], probability = std::exp(row[3] - log_sum(row));
      const double difference = std::abs(numbers.logit - right) / std::max(1.0, std::abs(right));
      CHECK(difference <= 2e-5);
      CHECK(std::abs(numbers.probability - probability) <= 1e-5);
      CHECK(numbers.logit != found.present.logit);
      worst = std::max(worst, difference);
    }
    MESSAGE("logits against the reference: ", worst);
    // A run against itself subtracts nothing: the mean is of its own text.
    const auto own = runs.find<HeadKnockouts>(present, present, knockout_query(choices, 0, 6, 3, 8));
    const auto mean = runs.find<HeadKnockouts>(
        present, present, knockout_query(Choices().set(kWhatIfView.ablation, Ablation::Mean), 0, 6, 3, 8));
    for (const auto& [head, numbers] : own.without) {
      CHECK(std::abs(numbers.logit - mean.without.at(head).logit) <= 2e-5 * std::max(1.0, std::abs(numbers.logit)));
    }
  }
}

}  // namespace baseline_analyses_gpu_test
