// Painted biases, painted patterns and documents: against PyTorch, and by every way of computing attention.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "inference/desk.h"
#include "inference/random_network.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace painted_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::FixedPattern;
using attention::Stage;
using model::BlockKind;

namespace {

BlockKind painted_kind(const std::string& name) {
  return name == "encoder" ? BlockKind::EncoderSelf : name == "decoder" ? BlockKind::DecoderSelf : BlockKind::Cross;
}

std::optional<std::uint32_t> axis_of(const nlohmann::json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<std::uint32_t>());
}

void paint_as(const nlohmann::json& painted, test::Desk& desk, BlockKind kind) {
  attention::MaskSpec& mask = desk.masks[kind];
  for (const nlohmann::json& bias : painted.at("biases")) {
    mask.biases[{.layer = axis_of(bias[0]), .batch = std::nullopt, .head = axis_of(bias[1])}].paint(
        {bias[2].get<std::uint32_t>(), bias[3].get<std::uint32_t>()}, bias[4].get<float>());
  }
  attention::set_documents(mask, 0, painted.at("documents").get<std::vector<std::uint32_t>>());
  const nlohmann::json& pattern = painted.at("painted");
  if (pattern.is_null()) return;
  std::vector<attention::Painted<float>> weights;
  for (const nlohmann::json& weight : pattern.at("weights")) {
    weights.emplace_back(attention::Cell{weight[0].get<std::uint32_t>(), weight[1].get<std::uint32_t>()},
                         weight[2].get<float>());
  }
  const model::BlockRef block{kind, LayerIndex{pattern.at("layer").get<std::uint32_t>()}};
  desk.interventions.push_back(
      {.site = model::Site::Weights,
       .scope = scope_of(block, pattern.at("head").get<std::uint32_t>()),
       .operation = ReplacePattern{{FixedPattern::Painted, attention::NumberRuns(std::move(weights))}}});
}

/// The largest |found − expected|; infinite where one of them is no number.
double largest_difference(std::span<const float> found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double off = std::abs(static_cast<double>(found[i]) - expected[i]);
    largest = std::isnan(off) ? std::numeric_limits<double>::infinity() : std::max(largest, off);
  }
  return largest;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "painted biases, patterns and documents compute what PyTorch does") {
    const nlohmann::json golden = read_json(std::string(HEADLIGHT_GOLDEN_DIR) + "/painted.json");
    REQUIRE(golden.size() == 4);
    double worst_logit = 0.0, worst_weight = 0.0;
    for (const auto& item : golden.items()) {
      const test::OpenModel model = test::open_golden_model(item.key());
      for (const nlohmann::json& expected : item.value().at("cases")) {
        test::Random random(1);
        test::Desk desk = make_desk(random, model);
        desk.source = {item.value().at("ids").get<std::vector<std::uint32_t>>()};
        if (model.description.is_encoder_decoder) {
          desk.target = {item.value().at("target_ids").get<std::vector<std::uint32_t>>()};
        }
        const BlockKind kind = painted_kind(expected.at("kind").get<std::string>());
        paint_as(expected, desk, kind);
        CAPTURE(item.key());
        CAPTURE(expected.at("kind").dump());
        test::RunningSession session(context);
        session.run(model.network, desk.input(), desk.masks, desk.interventions);
        const Tensor logits = session.logits();
        const auto of_logits = expected.at("logits").get<std::vector<double>>();
        const double logit = largest_difference(std::span(logits.values).last(of_logits.size()), of_logits);
        CHECK(logit < 3e-5);  // observed 7.9e-6
        const bool is_decoder = kind != BlockKind::EncoderSelf && model.description.is_encoder_decoder;
        const std::uint32_t layers = is_decoder ? model.description.decoder_layers : model.description.layers;
        const Tensor weights = session.stage({kind, LayerIndex{layers - 1}}, Stage::Weights);
        std::vector<double> maps;
        for (const nlohmann::json& map : expected.at("weights")) {
          for (const nlohmann::json& row : map) {
            for (const nlohmann::json& weight : row) maps.push_back(weight.get<double>());
          }
        }
        const double weight = largest_difference(std::span(weights.values).first(maps.size()), maps);
        CHECK(weight < 3e-6);  // observed 4.8e-7
        worst_logit = std::max(worst_logit, logit);
        worst_weight = std::max(worst_weight, weight);
      }
    }
    MESSAGE("largest difference of a logit " << worst_logit << ", of a weight " << worst_weight);
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "painting changes the layers from the painted one on, and taking it away gives the same bits") {
    const test::OpenModel model = test::open_golden_model("llama");
    test::Random random(5);
    test::Desk desk = make_desk(random, model);
    const auto pass = [&] {
      return PassInputs{
          .network = model.network, .input = desk.input(), .masks = desk.masks, .interventions = desk.interventions};
    };
    Session session(context);
    std::shared_ptr<const Run> run = session.run(pass());
    const model::BlockRef last{.layer = LayerIndex{model.description.layers - 1}};
    const std::vector<float> before = run->stage(last, Stage::Output).values;
    attention::MaskSpec& mask = desk.masks[BlockKind::EncoderSelf];
    mask.biases[{.layer = last.layer.value, .batch = std::nullopt, .head = 0}].paint({6, 2}, 3.0f);
    run = session.run(pass(), run);
    CHECK(run->timing().reused_layers + 1 == model.description.layers);
    CHECK(run->stage(last, Stage::Output).values != before);
    mask.biases.clear();
    run = session.run(pass(), run);
    CHECK(run->stage(last, Stage::Output).values == before);
    attention::set_documents(mask, 0, {4});
    run = session.run(pass(), run);
    const Tensor weights = run->stage(last, Stage::Weights);
    const std::uint32_t tokens = weights.shape.back();
    for (std::uint32_t query = 4; query < tokens; ++query) {
      for (std::uint32_t key = 0; key < 4; ++key) CHECK(weights.values[std::size_t{query} * tokens + key] == 0.0f);
    }
  }
}

}  // namespace painted_gpu_test
