// Sizes from one token to 4,096, d_model up to 8,192, 64 heads, and devices that can't take them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "inference/playground.h"
#include "inference/random_network.h"
#include "support/deviation.h"
#include "support/error_message.h"
#include "support/gpu.h"
#include "support/running_session.h"
#include "support/stages.h"
#include "support/visibility.h"

namespace sizes_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;
using attention::Tile;
using attention::TileRequest;

namespace {

constexpr model::BlockRef kFirst{};

model::ModelInput vectors(Tensor x) {
  model::ModelInput input;
  input.source = {.batch = x.axis(0),
                  .length = x.axis(1),
                  .lengths = std::vector<std::uint32_t>(x.axis(0), x.axis(1)),
                  .ids = {},
                  .vectors = {}};
  input.source.vectors = std::move(x);
  return input;
}

/// Row `row` of x [1, token, d_model] through a linear layer, columns [first, first + count) of the result.
std::vector<double> project(const model::Linear& linear, const Tensor& x, std::uint32_t row, std::uint32_t first,
                            std::uint32_t count) {
  std::vector<double> y;
  for (std::uint32_t o = first; o < first + count; ++o) {
    double sum = linear.has_bias() ? static_cast<double>(linear.bias.values()[o]) : 0.0;
    for (std::uint32_t i = 0; i < linear.in(); ++i) {
      sum += static_cast<double>(x.values[std::size_t{row} * linear.in() + i]) *
             static_cast<double>(linear.weight.values()[std::size_t{o} * linear.in() + i]);
    }
    y.push_back(sum);
  }
  return y;
}

/// One head's weights and output for one query, in double precision and without the whole map.
struct Row {
  std::vector<double> weights, output;
};
Row row_of_head(const model::AttentionConfig& config, const model::AttentionWeights& weights, const Tensor& x,
                std::uint32_t head, std::uint32_t query, std::uint32_t visible_keys) {
  const std::vector<double> q = project(weights.query, x, query, head * config.d_k, config.d_k);
  Row row{std::vector<double>(x.axis(1), 0.0), std::vector<double>(config.d_v, 0.0)};
  double top = -std::numeric_limits<double>::infinity(), total = 0.0;
  for (std::uint32_t key = 0; key < visible_keys; ++key) {
    const std::vector<double> k = project(weights.key, x, key, head * config.d_k, config.d_k);
    for (std::uint32_t d = 0; d < config.d_k; ++d) row.weights[key] += q[d] * k[d];
    row.weights[key] *= static_cast<double>(config.scale.factor(config.d_k));
    top = std::max(top, row.weights[key]);
  }
  for (std::uint32_t key = 0; key < visible_keys; ++key) total += row.weights[key] = std::exp(row.weights[key] - top);
  for (std::uint32_t key = 0; key < visible_keys; ++key) {
    row.weights[key] /= total;
    const std::vector<double> v = project(weights.value, x, key, head * config.d_v, config.d_v);
    for (std::uint32_t d = 0; d < config.d_v; ++d) row.output[d] += row.weights[key] * v[d];
  }
  return row;
}

bool all_finite(std::span<const float> values) {
  return !values.empty() && std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

std::string words(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += std::string(1, static_cast<char>('a' + i % 26)) + " ";
  return text;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "4,096 tokens: sampled rows are right, and no n × n matrix is stored") {
    constexpr std::uint32_t kTokens = 4'096;
    const model::AttentionConfig config{.d_model = 16, .heads = 2, .d_k = 8, .d_v = 8};
    test::Random random(71);
    const model::AttentionWeights weights = test::random_weights(random, config, true, true);
    const Tensor x = random.tensor({1, kTokens, 16});
    const auto network = test::single_layer(config, weights);
    test::RunningSession session(context);
    for (const bool causal : {false, true}) {
      attention::MaskSet masks;
      masks.by_kind[0].rule.causal = causal;
      const std::size_t before = context.allocated_bytes();
      const RunTiming timing = session.run(network, vectors(x), masks);
      if (!causal)
        CHECK(timing.device_bytes - before < std::size_t{kTokens} * kTokens);  // a byte for each cell would be too much
      CHECK(all_finite(session.stage(kFirst, Stage::Output).values));
      for (const std::uint32_t row : {0u, 1u, 2'049u, 4'095u}) {
        const TileRequest requests[] = {{.head = 1, .stage = Stage::Weights, .row = row, .rows = 1, .columns = kTokens},
                                        {.head = 1, .stage = Stage::Heads, .row = row, .rows = 1, .columns = 8}};
        const std::vector<Tile> tiles = session.evaluate(requests);
        const Row expected = row_of_head(config, weights, x, 1, row, causal ? row + 1 : kTokens);
        double sum = 0.0;
        for (const float weight : tiles[0].values) sum += static_cast<double>(weight);
        CAPTURE(row);
        CHECK(std::abs(sum - 1.0) < 1e-5);                                         // observed 5.1e-7
        CHECK(test::deviation(tiles[0].values, expected.weights).max_abs < 1e-6);  // observed 8.7e-9
        CHECK(test::deviation(tiles[1].values, expected.output).max_abs < 1e-5);   // observed 8.3e-7
      }
      // The whole map as a thumbnail: every pooled value is a weight.
      const TileRequest thumbnail{.head = 0, .stage = Stage::Weights, .rows = kTokens, .columns = kTokens, .pool = 64};
      const Tile tile = session.evaluate({&thumbnail, 1}).at(0);
      CHECK(tile.values.size() == 64 * 64);
      CHECK(all_finite(tile.values));
      CHECK(tile.is_masked(0, 63) == causal);
      CHECK_FALSE(tile.is_masked(63, 0));
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "one token, also with 64 heads and widths of one") {
    test::RunningSession session(context);
    for (const auto& shape : {std::tuple{1u, 1u, 0u}, {64u, 64u, 0u}, {5u, 64u, 3u}, {7u, 1u, 1u}}) {
      const auto& d_model = std::get<0>(shape);
      const auto& heads = std::get<1>(shape);
      const auto& d = std::get<2>(shape);
      PlaygroundSettings settings;
      settings.d_model = d_model;
      settings.heads = heads;
      settings.d_k = settings.d_v = d;
      const Playground playground = make_playground(settings, "alone", "");
      const attention::MaskSet masks;
      session.run(playground.network, playground.input, masks);
      const auto expected =
          model::reference::run(*playground.network, playground.input, test::visibility(masks, playground.input),
                                -std::numeric_limits<double>::infinity());
      std::string worst;
      const double difference = test::max_difference(session, expected, worst);
      CAPTURE(d_model);
      CAPTURE(worst);
      CHECK(difference < 5e-6);  // observed 5.6e-7
      const Tensor weights = session.stage(kFirst, Stage::Weights);
      CHECK(std::all_of(weights.values.begin(), weights.values.end(), [](float weight) { return weight == 1.0f; }));
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "d_model 8,192 with one head and with 64") {
    constexpr std::uint32_t kWidth = 8'192, kTokens = 3;
    for (const std::uint32_t heads : {1u, 64u}) {
      const model::AttentionConfig config{.d_model = kWidth, .heads = heads, .d_k = kWidth / heads, .d_v = kWidth / heads};
      // One large weight is used for Q, K and V: only its size matters.
      test::Random random(72 + heads);
      model::Linear shared{.weight = random.tensor({kWidth, kWidth}, std::sqrt(3.0f / kWidth))};
      const Tensor x = random.tensor({1, kTokens, kWidth}, heads == 1 ? 0.2f : 1.0f);
      model::AttentionWeights shared_weights{.query = shared, .key = shared, .value = {}};
      shared_weights.value = std::move(shared);
      const auto network = test::single_layer(config, std::move(shared_weights));
      const model::AttentionWeights& weights = *network->layers->encoder[0].weights;
      test::RunningSession session(context);
      session.run(network, vectors(x), {});
      for (const std::uint32_t head : {0u, heads - 1}) {
        const TileRequest requests[] = {{.head = head, .stage = Stage::Weights, .row = 1, .rows = 1, .columns = kTokens},
                                        {.head = head, .stage = Stage::Heads, .row = 1, .rows = 1, .columns = config.d_v}};
        const std::vector<Tile> tiles = session.evaluate(requests);
        const Row expected = row_of_head(config, weights, x, head, 1, kTokens);
        CAPTURE(heads);
        CHECK(test::deviation(tiles[0].values, expected.weights).max_abs < 2e-5);  // observed 5.3e-7
        CHECK(test::deviation(tiles[1].values, expected.output).max_abs < 2e-5);   // observed 4.7e-6
      }
      CHECK(all_finite(session.stage(kFirst, Stage::Merged).values));
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "device memory grows with the number of tokens, not with its square") {
    std::size_t bytes[3] = {};
    for (std::uint32_t i = 0; i < 3; ++i) {
      const std::size_t before = context.allocated_bytes();
      test::RunningSession session(context);
      const Playground playground = make_playground({}, words(std::size_t{512} << i), "");
      bytes[i] = session.run(playground.network, playground.input, {}).device_bytes - before;
      session.stage(kFirst, Stage::Output);
    }
    CHECK(static_cast<double>(bytes[2]) / static_cast<double>(bytes[1]) <= 2.2);
    CHECK(static_cast<double>(bytes[2] - bytes[1]) / static_cast<double>(bytes[1] - bytes[0]) <=
          2.2);                                            // 4 if anything were n²
    CHECK(bytes[2] < std::size_t{2'048} * 2'048 * 4 * 8);  // one float for each cell of 8 heads
  }

  TEST_CASE("input too large for a small device is refused with needed and available bytes, and smaller input still works") {
    test::WatchedContext small({.memory_bytes = std::size_t{8} << 20});
    test::RunningSession session(small);
    const Playground little = make_playground({}, "the cat sat", "");
    session.run(little.network, little.input, {});
    const Playground much = make_playground({}, words(8'000), "");
    const std::string message = test::error_message([&] { session.run(much.network, much.input, {}); });
    CAPTURE(message);
    CHECK(test::is_one_line(message));
    CHECK(message.starts_with("the device '" + small->device().name + "' can't hold "));
    CHECK(message.find(" MiB needed at least, 8.0 MiB there are") != std::string::npos);
    CHECK(message.ends_with("give a shorter text"));
    CHECK_NOTHROW(session.run(little.network, little.input, {}));
    CHECK(session.stage(kFirst, Stage::Weights).shape == Shape{1, 8, 3, 3});
  }

  TEST_CASE("a run that fits only without the previous one frees that one first") {
    const Playground text = make_playground({}, words(3'000), "");
    std::size_t needed = 0;
    {
      test::WatchedContext roomy({});
      test::RunningSession session(roomy);
      needed = session.run(text.network, text.input, {}).device_bytes;
    }
    test::WatchedContext small({.memory_bytes = needed + needed / 8});
    test::RunningSession session(small);
    for (int i = 0; i < 3; ++i) CHECK_NOTHROW(session.run(text.network, text.input, {}));
    CHECK(session.blocks().size() == 2);
  }
}

}  // namespace sizes_gpu_test
