#include "inference/reference_run.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace reference_test {

using namespace headlight;
using namespace headlight::model;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr BlockRef kBlock{BlockKind::EncoderSelf, LayerIndex{0}};

/// One head, two queries, three keys: scores are [[0, ln 2, ln 5], [0, 0, 0]].
reference::AttentionStages hand_case() {
  reference::AttentionStages stages;
  stages[attention::Stage::Q] = {.shape = {1, 1, 2, 1}, .values = {1, 0}};
  stages[attention::Stage::K] = {.shape = {1, 1, 3, 1}, .values = {0, std::log(2.0), std::log(5.0)}};
  stages[attention::Stage::V] = {.shape = {1, 1, 3, 2}, .values = {1, 0, 0, 1, 8, -8}};
  return stages;
}

using Values = std::vector<double>;

}  // namespace

TEST_SUITE("cpu") {
  const AttentionConfig unscaled{.d_model = 1, .heads = 1, .d_k = 1, .d_v = 2, .scale = {.kind = Scale::Kind::None}};

  TEST_CASE("softmax of a hand case") {
    reference::AttentionStages stages = hand_case();
    const auto everything = [](auto...) { return true; };
    reference::attend({unscaled, kBlock, everything, -kInfinity}, stages);
    CHECK(stages[attention::Stage::Weights].values[0] == doctest::Approx(1.0 / 8));
    CHECK(stages[attention::Stage::Weights].values[1] == doctest::Approx(2.0 / 8));
    CHECK(stages[attention::Stage::Weights].values[2] == doctest::Approx(5.0 / 8));
    CHECK(stages[attention::Stage::Heads].values[0] == doctest::Approx(1.0 / 8 + 5.0));
    CHECK(stages[attention::Stage::Heads].values[1] == doctest::Approx(2.0 / 8 - 5.0));
    CHECK(stages.row_max.values[0] == doctest::Approx(std::log(5.0)));
    CHECK(stages.row_sum.values[0] == doctest::Approx(8.0 / 5));
    CHECK(stages[attention::Stage::Weights].values[4] == doctest::Approx(1.0 / 3));
    CHECK(stages[attention::Stage::Merged].values == stages[attention::Stage::Heads].values);
  }

  TEST_CASE("a masked cell has no weight; a masked row is empty under -inf and uniform under a finite fill") {
    const auto mask = [](BlockRef, std::uint32_t, std::uint32_t, std::uint32_t query, std::uint32_t key) {
      return query == 0 && key < 2;
    };
    reference::AttentionStages stages = hand_case();
    reference::attend({unscaled, kBlock, mask, -kInfinity}, stages);
    CHECK(stages[attention::Stage::Weights].values[1] == doctest::Approx(2.0 / 3));
    CHECK(stages[attention::Stage::Weights].values[2] == 0.0);
    CHECK(stages[attention::Stage::Masked].values[2] == -kInfinity);
    CHECK(Values(stages[attention::Stage::Weights].values.begin() + 3, stages[attention::Stage::Weights].values.end()) ==
          Values{0, 0, 0});
    CHECK(Values(stages[attention::Stage::Heads].values.begin() + 2, stages[attention::Stage::Heads].values.end()) ==
          Values{0, 0});
    CHECK(stages.row_max.values[1] == -kInfinity);
    CHECK(stages.row_sum.values[1] == 0.0);

    stages = hand_case();
    reference::attend({unscaled, kBlock, mask, -1e9}, stages);
    CHECK(stages[attention::Stage::Weights].values[2] == 0.0);
    CHECK(stages[attention::Stage::Weights].values[3] == doctest::Approx(1.0 / 3));
    CHECK(stages[attention::Stage::Heads].values[2] == doctest::Approx(3.0));
  }

  TEST_CASE("the scale multiplies the scores before the fill") {
    reference::AttentionStages stages = hand_case();
    AttentionConfig config = unscaled;
    config.scale = {.kind = Scale::Kind::Value, .value = 2.0f};
    reference::attend({config, kBlock, [](auto...) { return true; }, -kInfinity}, stages);
    CHECK(stages[attention::Stage::Scores].values[1] == doctest::Approx(std::log(2.0)));
    CHECK(stages[attention::Stage::Scaled].values[1] == doctest::Approx(std::log(4.0)));
    CHECK(stages[attention::Stage::Weights].values[1] == doctest::Approx(4.0 / 30));
  }

  TEST_CASE("heads merge side by side, or row by row without the transpose") {
    reference::AttentionStages stages;
    stages[attention::Stage::Q] = {.shape = {1, 2, 2, 1}, .values = {0, 0, 0, 0}};
    stages[attention::Stage::K] = {.shape = {1, 2, 1, 1}, .values = {0, 0}};
    stages[attention::Stage::V] = {.shape = {1, 2, 1, 2}, .values = {1, 2, 3, 4}};
    AttentionConfig config{.d_model = 4, .heads = 2, .d_k = 1, .d_v = 2};
    const auto everything = [](auto...) { return true; };
    reference::attend({config, kBlock, everything, -kInfinity}, stages);
    CHECK(stages[attention::Stage::Merged].shape == Shape{1, 2, 4});
    CHECK(stages[attention::Stage::Merged].values == Values{1, 2, 3, 4, 1, 2, 3, 4});
    config.merge = MergeOrder::WithoutTranspose;
    reference::attend({config, kBlock, everything, -kInfinity}, stages);
    CHECK(stages[attention::Stage::Merged].values == Values{1, 2, 1, 2, 3, 4, 3, 4});
  }

  TEST_CASE("a pass embeds, adds positions, normalises and ends with logits") {
    const Linear identity{.weight = Tensor(Shape{2, 2}, {1, 0, 0, 1})};
    Layers layers;
    layers.encoder = {
        {.config = {.d_model = 2, .heads = 1, .d_k = 2, .d_v = 2},
         .weights = AttentionWeights{.query = identity, .key = identity, .value = identity},
         .norms = {.after = Norm{.weight = Tensor(Shape{2}, {1, 1}), .bias = Tensor(Shape{2}, {0, 5}), .epsilon = 0.0f}}}};
    layers.unembedding = {.linear = {.weight = Tensor(Shape{1, 2}, {1, 1})}};
    Embedding embedding{
        .table = Tensor(Shape{2, 2}, {0, 0, 1, 2}), .scale = 2.0f, .positions = Tensor(Shape{2, 2}, {0, 0, 10, 20})};
    const Network network{.source_embedding = std::make_shared<Embedding>(embedding),
                          .layers = std::make_shared<Layers>(layers)};
    const ModelInput input{.source = {.batch = 1, .length = 2, .lengths = {1}, .ids = {1, kPaddingId}, .texts = {}}};
    const auto itself = [](BlockRef, std::uint32_t, std::uint32_t, std::uint32_t query, std::uint32_t key) {
      return query == key;
    };
    const reference::Run run = reference::run(network, input, itself, -kInfinity);
    CHECK(run.blocks == network.blocks());
    CHECK(run.stages[0][attention::Stage::X].values == Values{2, 4, 10, 20});  // a padding token is its position alone
    CHECK(run.stages[0][attention::Stage::Merged].values == Values{2, 4, 10, 20});
    CHECK(run.stages[0][attention::Stage::Output].values.empty());
    CHECK(run.encoder_output.values == Values{-1, 6, -1, 6});
    CHECK(run.logits.values == Values{5, 5});
  }
}

}  // namespace reference_test
