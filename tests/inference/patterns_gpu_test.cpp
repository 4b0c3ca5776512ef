// Heads that attend by fixed patterns: against PyTorch, within masks, of long texts, and what passes reuse.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "inference/desk.h"
#include "inference/random_network.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace patterns_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::FixedPattern;
using attention::Stage;
using model::BlockKind;

namespace {

BlockKind kind_named(const std::string& name) {
  return name == "encoder" ? BlockKind::EncoderSelf : name == "decoder" ? BlockKind::DecoderSelf : BlockKind::Cross;
}

FixedPattern pattern_named(const std::string& name) {
  auto pattern = FixedPattern::Uniform;
  while (to_string(pattern) != name) pattern = static_cast<FixedPattern>(static_cast<int>(pattern) + 1);
  return pattern;
}

/// The largest |found − expected|; infinite where one of them is no number.
double difference(std::span<const float> found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double off = std::abs(static_cast<double>(found[i]) - expected[i]);
    largest = std::isnan(off) ? std::numeric_limits<double>::infinity() : std::max(largest, off);
  }
  return largest;
}

Intervention replaced(model::BlockRef block, std::uint32_t head, FixedPattern pattern) {
  return {.site = model::Site::Weights, .scope = scope_of(block, head), .operation = ReplacePattern{pattern}};
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "models whose heads attend by patterns compute what PyTorch does") {
    const nlohmann::json golden = read_json(std::string(HEADLIGHT_GOLDEN_DIR) + "/patterns.json");
    REQUIRE(golden.size() == 4);
    for (const auto& item : golden.items()) {
      const test::OpenModel model = test::open_golden_model(item.key());
      test::Random random(1);
      test::Desk desk = make_desk(random, model);
      desk.source = {item.value().at("ids").get<std::vector<std::uint32_t>>()};
      if (model.description.is_encoder_decoder) {
        desk.target = {item.value().at("target_ids").get<std::vector<std::uint32_t>>()};
      }
      for (const nlohmann::json& expected : item.value().at("cases")) {
        Interventions interventions;
        for (const nlohmann::json& head : expected.at("heads")) {
          const model::BlockRef block{kind_named(head.at("kind").get<std::string>()),
                                      LayerIndex{head.at("layer").get<std::uint32_t>()}};
          interventions.push_back(
              replaced(block, head.at("head").get<std::uint32_t>(), pattern_named(head.at("pattern").get<std::string>())));
        }
        CAPTURE(item.key());
        CAPTURE(expected.at("heads").dump());
        test::RunningSession session(context);
        session.run(model.network, desk.input(), desk.masks, interventions);
        const Tensor logits = session.logits();
        const std::size_t vocabulary = logits.shape.back();
        CHECK(difference(std::span(logits.values).last(vocabulary), expected.at("logits").get<std::vector<double>>()) <
              3e-5);
        const BlockKind kind = kind_named(expected.at("kind").get<std::string>());
        const bool is_decoder = kind != BlockKind::EncoderSelf && model.description.is_encoder_decoder;
        const std::uint32_t layers = is_decoder ? model.description.decoder_layers : model.description.layers;
        const Tensor weights = session.stage({kind, LayerIndex{layers - 1}}, Stage::Weights);
        std::vector<double> map;
        for (const nlohmann::json& row : expected.at("weights")) {
          for (const nlohmann::json& weight : row) map.push_back(weight.get<double>());
        }
        CHECK(difference(std::span(weights.values).subspan(map.size(), map.size()), map) < 1e-5);
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a mask still applies: what it hides gets no weight, and a row without keys stays masked") {
    test::Random random(81);
    const model::AttentionConfig config{.d_model = 6, .heads = 2, .d_k = 3, .d_v = 5};
    const auto network = test::single_layer(config, test::random_weights(random, config, true, true));
    model::ModelInput input{.source = test::random_tokens(random, 1, 6, 6)};
    attention::MaskSet masks;
    attention::MaskSpec& mask = masks[BlockKind::EncoderSelf];
    mask.rule = {.causal = true};
    mask.painted[{.head = 1}].paint({4, 2}, false);
    mask.painted[{.head = 1}].paint({5, 5}, false);
    const auto rows = [&](FixedPattern pattern) {
      test::RunningSession session(context);
      session.run(network, input, masks, {replaced({}, 1, pattern)});
      const Tensor weights = session.stage({}, Stage::Weights);
      return std::vector<float>(weights.values.begin() + 36, weights.values.end());
    };
    const std::vector<float> uniform = rows(FixedPattern::Uniform), diagonal = rows(FixedPattern::Diagonal),
                             previous = rows(FixedPattern::Previous), first = rows(FixedPattern::First);
    for (std::uint32_t query = 0; query < 6; ++query) {
      for (std::uint32_t key = 0; key < 6; ++key) {
        CAPTURE(query);
        CAPTURE(key);
        const std::size_t at = std::size_t{query} * 6 + key;
        const bool is_hidden = key > query || (query == 4 && key == 2) || (query == 5 && key == 5);
        const float visible = query < 4 ? static_cast<float>(query + 1) : static_cast<float>(query);
        CHECK(uniform[at] == doctest::Approx(is_hidden ? 0.0F : 1.0F / visible));
        CHECK(diagonal[at] == (key == query && query != 5 ? 1.0F : 0.0F));
        CHECK(previous[at] == (key == (query == 0 ? 0 : query - 1) ? 1.0F : 0.0F));
        CHECK(first[at] == (key == 0 ? 1.0F : 0.0F));
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a long text's patterns are told without a matrix, and typing on keeps what is there") {
    const test::OpenModel model = test::open_golden_model("llama");
    test::Random random(82);
    test::Desk desk = make_desk(random, model);
    constexpr std::uint32_t kTokens = 3000;
    desk.source = {test::random_text(random, kTokens, model.description.vocabulary)};
    const model::BlockRef block{.layer = LayerIndex{1}};
    desk.interventions = {replaced(block, 0, FixedPattern::Uniform), replaced(block, 1, FixedPattern::Previous)};
    const auto pass = [&] {
      return PassInputs{
          .network = model.network, .input = desk.input(), .masks = desk.masks, .interventions = desk.interventions};
    };
    Session session(context);
    std::shared_ptr<const Run> run = session.run(pass());
    const auto tile = [&](std::uint32_t head, std::uint32_t column) {
      const attention::TileRequest request{.block = block,
                                           .head = head,
                                           .stage = Stage::Weights,
                                           .row = kTokens - 4,
                                           .rows = 4,
                                           .column = column,
                                           .columns = 4};
      return run->evaluate(std::span(&request, 1)).front().values;
    };
    for (std::uint32_t row = 0; row < 4; ++row) {
      CHECK(tile(0, 17)[row * 4] == doctest::Approx(1.0 / (kTokens - 3 + row)).epsilon(1e-5));
      for (std::uint32_t column = 0; column < 4; ++column) {
        CHECK(tile(1, kTokens - 4)[row * 4 + column] == (column + 1 == row ? 1.0F : 0.0F));
      }
    }
    desk.source[0].push_back(7);
    run = session.run(pass(), run);
    CHECK(run->timing().reused_tokens == kTokens);
    Session fresh(context);
    CHECK(run->stage(block, Stage::Output).values == fresh.run(pass())->stage(block, Stage::Output).values);
  }
}

}  // namespace patterns_gpu_test
