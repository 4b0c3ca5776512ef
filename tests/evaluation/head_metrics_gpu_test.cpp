// Metrics of bundled models' heads, from strips of maps that the device evaluates, against numbers that another program
// computed from transformers' whole maps.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include <doctest/doctest.h>

#include "evaluation/head_meter.h"
#include "inference/language_model.h"
#include "support/golden.h"
#include "support/golden_model.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace head_metrics_gpu_test {

using namespace headlight;
using namespace headlight::evaluation;

namespace {

constexpr std::uint32_t kStrip = 4;  // rows; no divisor of the texts' lengths

/// Metrics of a head, from strips of its map.
HeadMetrics measure(const test::RunningSession& session, model::BlockRef block, std::uint32_t head, HeadMeter meter) {
  const inference::BlockShape shape = session.shape(block);
  for (std::uint32_t row = 0; row < shape.queries; row += kStrip) {
    const std::vector<attention::TileRequest> request = {
        {.block = block, .head = head, .row = row, .rows = std::min(kStrip, shape.queries - row), .columns = shape.keys}};
    const attention::Tile strip = session.evaluate(request).front();
    for (std::uint32_t r = 0; r < strip.request.rows; ++r) {
      std::vector<double> weights;
      std::uint32_t visible = 0;
      for (std::uint32_t key = 0; key < shape.keys; ++key) {
        weights.push_back(double{strip.at(r, key)});
        visible += strip.is_masked(r, key) ? 0u : 1u;
      }
      meter.add(row + r, weights, visible);
    }
  }
  return meter.metrics();
}

/// The largest differences from golden numbers; ∞ for a NaN or a metric that isn't defined.
struct Difference {
  double value = 0.0, agreement = 0.0;
};

void note(double& worst, std::optional<double> found, const nlohmann::json& expected) {
  const double difference = found ? std::abs(*found - expected.get<double>()) : std::numeric_limits<double>::infinity();
  worst = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(worst, difference);
}

Difference compare(const HeadMetrics& found, const nlohmann::json& expected) {
  Difference worst;
  const std::pair<HeadMetric, const char*> names[] = {{HeadMetric::PreviousToken, "previous"},
                                                      {HeadMetric::DuplicateToken, "duplicate"},
                                                      {HeadMetric::Induction, "induction"},
                                                      {HeadMetric::Sink, "sink"},
                                                      {HeadMetric::Concentration, "concentration"},
                                                      {HeadMetric::RelativeEntropy, "evenness"},
                                                      {HeadMetric::Entropy, "entropy"},
                                                      {HeadMetric::Distance, "distance"}};
  for (const auto& name : names) {
    const auto number = expected.find(name.second);
    if (number == expected.end()) {
      CHECK_FALSE(found.value(name.first).has_value());
      continue;
    }
    if (!is_of_pattern(name.first)) {
      note(worst.value, found.value(name.first), *number);
      continue;
    }
    if (number->contains("mean")) note(worst.value, found.value(name.first), number->at("mean"));
    for (std::size_t bits = 0; bits < 4; ++bits) {
      PatternScoring scoring{.measure = PatternMeasure::Mul,
                             .exclusions = {.first_token = (bits & 1u) != 0, .current_token = (bits & 2u) != 0}};
      const bool has_cells = number->at("mul").at(0).get<double>() > 0.0;
      if (!has_cells) {
        CHECK_FALSE(found.value(name.first, scoring).has_value());
        continue;
      }
      note(worst.value, found.value(name.first, scoring), number->at("mul").at(bits));
      scoring.measure = PatternMeasure::Abs;
      note(worst.agreement, found.value(name.first, scoring), number->at("abs").at(bits));
    }
  }
  return worst;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "metrics of bundled models' heads are those of transformers' maps") {
    const std::filesystem::path golden_folder = HEADLIGHT_GOLDEN_DIR;
    const nlohmann::json golden = test::golden("head_metrics.json");
    for (const char* name : {"captions-gpt2", "multi30k-de-en"}) {
      CAPTURE(std::string(name));
      const auto model = inference::open_model(golden_folder / "../../assets/models" / name);
      const auto cases = test::read_golden_cases(golden_folder / "bundled" / (std::string(name) + ".safetensors"));
      const model::ModelInput& input = cases.at(0).input;
      test::RunningSession session(context);
      session.run(model->network, input, model->masks);
      Difference worst;
      std::size_t measured = 0;
      for (const model::BlockRef block : session.blocks()) {
        const bool is_cross = block.kind == model::BlockKind::Cross;
        const TokenRepeats repeats(input.queries(block.kind).ids);
        for (std::uint32_t head = 0; head < session.shape(block).heads; ++head) {
          const char* kind = is_cross ? "cross" : block.kind == model::BlockKind::DecoderSelf ? "decoder" : "encoder";
          const HeadMetrics found = measure(session, block, head, is_cross ? HeadMeter() : HeadMeter(repeats));
          const Difference difference = compare(found, golden.at(name).at(kind).at(block.layer.value).at(head));
          worst.value = std::max(worst.value, difference.value);
          worst.agreement = std::max(worst.agreement, difference.agreement);
          ++measured;
        }
      }
      MESSAGE(std::string(name), ": ", measured, " heads, values ", worst.value, ", abs ", worst.agreement);
      CHECK(worst.value < 1e-5);        // observed 4.6e-7
      CHECK(worst.agreement < 0.0021);  // three decimals: a tie may be rounded the other way
    }
  }
}

}  // namespace head_metrics_gpu_test
