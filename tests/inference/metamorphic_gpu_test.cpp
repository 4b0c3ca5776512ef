// Results that must stay equal, or only be permuted, under changes of the input.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "inference/random_network.h"
#include "support/deviation.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace metamorphic_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::MaskFill;
using attention::Stage;

namespace {

constexpr model::AttentionConfig kConfig{.d_model = 12, .heads = 4, .d_k = 5, .d_v = 6};
constexpr std::uint32_t kBatch = 2, kTokens = 21;
constexpr model::BlockRef kFirst{};

attention::MaskSet masks_of(std::string_view rule, MaskFill fill = MaskFill::NegativeInfinity) {
  attention::MaskSet masks;
  for (attention::MaskSpec& mask : masks.by_kind) {
    mask.rule = attention::parse_rule(rule).value();
    mask.fill = fill;
  }
  return masks;
}

model::ModelInput vectors(Tensor x, std::vector<std::uint32_t> lengths) {
  model::ModelInput input;
  input.source = {.batch = x.axis(0), .length = x.axis(1), .lengths = std::move(lengths), .ids = {}, .vectors = {}};
  input.source.vectors = std::move(x);
  return input;
}

/// The first `tokens` tokens of x [batch, token, d_model], or more, padded with `random` ones.
Tensor with_length(const Tensor& x, std::uint32_t tokens, test::Random& random) {
  Tensor changed = random.tensor({x.axis(0), tokens, x.axis(2)});
  for (std::uint32_t item = 0; item < x.axis(0); ++item) {
    for (std::uint32_t token = 0; token < std::min(tokens, x.axis(1)); ++token) {
      for (std::uint32_t d = 0; d < x.axis(2); ++d) changed.at({item, token, d}) = x.at({item, token, d});
    }
  }
  return changed;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape == b.shape);
  double largest = 0.0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    test::widen(largest, a.values[i], b.values[i]);
  }
  return largest;
}

/// One head's rows moved from `order[head]` to `head`, in blocks of d rows.
Tensor permute_rows(const Tensor& tensor, std::span<const std::uint32_t> order, std::uint32_t d) {
  Tensor moved = tensor;
  const std::size_t block = tensor.values.size() / order.size();
  REQUIRE(block % d == 0);
  for (std::size_t head = 0; head < order.size(); ++head) {
    std::copy_n(tensor.values.begin() + static_cast<std::ptrdiff_t>(order[head] * block), block,
                moved.values.begin() + static_cast<std::ptrdiff_t>(head * block));
  }
  return moved;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "permuting the heads permutes their maps and outputs, and the output stays") {
    test::Random random(61);
    const model::AttentionWeights weights = test::random_weights(random, kConfig, true, true);
    const std::vector<std::uint32_t> order{2, 0, 3, 1};
    model::AttentionWeights permuted = weights;
    for (auto* linear : {&permuted.query, &permuted.key}) {
      linear->weight = permute_rows(linear->weight.tensor(), order, kConfig.d_k);
      linear->bias = permute_rows(linear->bias.tensor(), order, kConfig.d_k);
    }
    permuted.value.weight = permute_rows(permuted.value.weight.tensor(), order, kConfig.d_v);
    permuted.value.bias = permute_rows(permuted.value.bias.tensor(), order, kConfig.d_v);
    const Tensor output = weights.output->weight.tensor();
    Tensor permuted_output = output;
    for (std::uint32_t row = 0; row < kConfig.d_model; ++row) {
      for (std::uint32_t column = 0; column < kConfig.heads * kConfig.d_v; ++column) {
        permuted_output.at({row, column}) =
            output.at({row, order[column / kConfig.d_v] * kConfig.d_v + column % kConfig.d_v});
      }
    }
    permuted.output->weight = std::move(permuted_output);
    const model::ModelInput input = vectors(random.tensor({kBatch, kTokens, kConfig.d_model}), {kTokens, 9});
    const attention::MaskSet masks = masks_of("causal");
    test::RunningSession plain(context), moved(context);
    plain.run(test::single_layer(kConfig, weights), input, masks);
    moved.run(test::single_layer(kConfig, permuted), input, masks);
    for (const Stage stage : {Stage::Q, Stage::Scaled, Stage::Weights, Stage::Heads}) {
      const Tensor before = plain.stage(kFirst, stage), after = moved.stage(kFirst, stage);
      Tensor expected = before;
      const std::size_t matrix = std::size_t{before.axis(2)} * before.axis(3);
      for (std::size_t map = 0; map < kBatch * kConfig.heads; ++map) {
        const std::size_t from = map / kConfig.heads * kConfig.heads + order[map % kConfig.heads];
        std::copy_n(before.values.begin() + static_cast<std::ptrdiff_t>(from * matrix), matrix,
                    expected.values.begin() + static_cast<std::ptrdiff_t>(map * matrix));
      }
      CAPTURE(attention::to_string(stage));
      CHECK(largest_difference(expected, after) == 0.0);
    }
    CHECK(largest_difference(plain.stage(kFirst, Stage::Output), moved.stage(kFirst, Stage::Output)) <
          2e-6);  // observed 3.6e-7
  }

  TEST_CASE_FIXTURE(test::OnGpu, "adding q·c to every score of a row leaves the weights") {
    test::Random random(62);
    model::AttentionWeights weights = test::random_weights(random, kConfig, true, true);
    const model::ModelInput input = vectors(random.tensor({kBatch, kTokens, kConfig.d_model}), {kTokens, 9});
    for (const char* rule : {"none", "causal", "window:3"}) {
      test::RunningSession plain(context), shifted(context);
      plain.run(test::single_layer(kConfig, weights), input, masks_of(rule));
      model::AttentionWeights moved = weights;
      Tensor moved_bias = moved.key.bias.tensor();
      for (float& value : moved_bias.values) value += random.number(3.0f);  // all keys move by the same vector
      moved.key.bias = std::move(moved_bias);
      shifted.run(test::single_layer(kConfig, moved), input, masks_of(rule));
      CAPTURE(rule);
      CHECK(largest_difference(plain.stage(kFirst, Stage::Scores), shifted.stage(kFirst, Stage::Scores)) > 0.5);
      CHECK(largest_difference(plain.stage(kFirst, Stage::Weights), shifted.stage(kFirst, Stage::Weights)) <
            2e-6);  // observed 1.2e-7
      CHECK(largest_difference(plain.stage(kFirst, Stage::Output), shifted.stage(kFirst, Stage::Output)) <
            5e-6);  // observed 3.0e-7
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "appending padding changes no visible cell") {
    test::Random random(63);
    const auto network = test::single_layer(kConfig, test::random_weights(random, kConfig, true, true));
    const Tensor x = random.tensor({kBatch, kTokens, kConfig.d_model});
    for (const char* rule : {"none", "causal", "window:4", "prefix:5"}) {
      for (const MaskFill fill : {MaskFill::NegativeInfinity, MaskFill::MinusOneBillion}) {
        test::RunningSession session(context);
        session.run(network, vectors(x, {kTokens, 9}), masks_of(rule, fill));
        const Tensor weights = session.stage(kFirst, Stage::Weights), output = session.stage(kFirst, Stage::Output);
        for (const std::uint32_t more : {1u, 3u, 44u}) {
          session.run(network, vectors(with_length(x, kTokens + more, random), {kTokens, 9}), masks_of(rule, fill));
          const Tensor longer = session.stage(kFirst, Stage::Weights), longer_output = session.stage(kFirst, Stage::Output);
          double weight_difference = 0.0, output_difference = 0.0, beyond = 0.0;
          for (std::uint32_t item = 0; item < kBatch; ++item) {
            for (std::uint32_t query = 0; query < (item == 0 ? kTokens : 9); ++query) {  // rows of real tokens
              for (std::uint32_t head = 0; head < kConfig.heads; ++head) {
                for (std::uint32_t key = 0; key < kTokens + more; ++key) {
                  const double weight = static_cast<double>(longer.at({item, head, query, key}));
                  if (key >= kTokens) {
                    test::widen(beyond, weight, 0.0);
                  } else {
                    test::widen(weight_difference, weight, static_cast<double>(weights.at({item, head, query, key})));
                  }
                }
              }
              for (std::uint32_t d = 0; d < kConfig.d_model; ++d) {
                test::widen(output_difference, longer_output.at({item, query, d}), output.at({item, query, d}));
              }
            }
          }
          CAPTURE(rule);
          CAPTURE(more);
          CHECK(beyond == 0.0);
          CHECK(weight_difference < 1e-6);  // observed 0
          CHECK(output_difference < 2e-6);  // observed 0
        }
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "with a causal mask, later tokens change nothing before them") {
    test::Random random(64);
    const auto network = test::single_layer(kConfig, test::random_weights(random, kConfig, true, true));
    const Tensor x = random.tensor({1, 40, kConfig.d_model});
    test::RunningSession whole(context), begun(context);
    whole.run(network, vectors(x, {40}), masks_of("causal"));
    const Tensor all = whole.stage(kFirst, Stage::Output), weights = whole.stage(kFirst, Stage::Weights);
    for (const std::uint32_t tokens : {1u, 7u, 8u, 9u, 32u, 33u, 39u}) {
      begun.run(network, vectors(with_length(x, tokens, random), {tokens}), masks_of("causal"));
      const Tensor output = begun.stage(kFirst, Stage::Output), first = begun.stage(kFirst, Stage::Weights);
      double difference = 0.0;
      for (std::uint32_t query = 0; query < tokens; ++query) {
        for (std::uint32_t d = 0; d < kConfig.d_model; ++d) {
          test::widen(difference, output.at({0, query, d}), all.at({0, query, d}));
        }
        for (std::uint32_t key = 0; key < tokens; ++key) {
          test::widen(difference, first.at({0, 3, query, key}), weights.at({0, 3, query, key}));
        }
      }
      CAPTURE(tokens);
      CHECK(difference < 2e-6);  // observed 0
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "rows sum to 1, and masked cells are exactly 0") {
    test::Random random(65);
    const auto network = test::single_layer(kConfig, test::random_weights(random, kConfig, true, true));
    const model::ModelInput input = vectors(random.tensor({kBatch, kTokens, kConfig.d_model}, 2.0f), {kTokens, 5});
    for (const char* rule : {"none", "causal", "window:1", "window:4", "prefix:3", "causal+window:3+prefix:2"}) {
      for (const MaskFill fill : {MaskFill::NegativeInfinity, MaskFill::MinusOneBillion, MaskFill::MinusTenBillion}) {
        const attention::MaskSet masks = masks_of(rule, fill);
        test::RunningSession session(context);
        session.run(network, input, masks);
        const Tensor weights = session.stage(kFirst, Stage::Weights);
        double worst_sum = 0.0;
        std::size_t wrong = 0;
        for (std::uint32_t row = 0; row < kBatch * kConfig.heads * kTokens; ++row) {
          const std::uint32_t item = row / (kConfig.heads * kTokens), query = row % kTokens;
          std::vector<bool> shows;
          for (std::uint32_t key = 0; key < kTokens; ++key) {
            shows.push_back(masks.by_kind[0].is_visible(0, item, 0, query, key, input.source.lengths[item]));
          }
          const bool is_hidden = std::find(shows.begin(), shows.end(), true) == shows.end();
          const bool is_uniform = is_hidden && fill != MaskFill::NegativeInfinity;
          double sum = 0.0;
          for (std::uint32_t key = 0; key < kTokens; ++key) {
            const float weight = weights.values[std::size_t{row} * kTokens + key];
            sum += static_cast<double>(weight);
            if (!(weight >= 0.0f && weight <= 1.0f) || (!shows[key] && !is_uniform && weight != 0.0f)) ++wrong;
          }
          test::widen(worst_sum, sum, is_hidden && !is_uniform ? 0.0 : 1.0);
        }
        CAPTURE(rule);
        CHECK(wrong == 0);
        CHECK(worst_sum < 2e-6);  // observed 1.3e-7
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "permuting keys and values together permutes the maps' columns and nothing else") {
    test::Random random(66);
    model::Layers layers;
    layers.encoder.push_back({.config = kConfig});
    auto network = std::make_shared<model::Network>();
    network->layers = std::make_shared<model::Layers>(std::move(layers));
    std::vector<std::uint32_t> order(kTokens);
    std::iota(order.begin(), order.end(), 0u);
    for (std::uint32_t i = kTokens; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    model::ModelInput input;
    input.source = {.batch = kBatch, .length = kTokens, .lengths = {kTokens, kTokens}};
    input.qkv = model::GivenQkv{random.tensor({kBatch, 4, kTokens, 5}), random.tensor({kBatch, 4, kTokens, 5}),
                                random.tensor({kBatch, 4, kTokens, 6})};
    model::ModelInput permuted = input;
    for (auto [from, to] : {std::pair{&input.qkv->key, &permuted.qkv->key}, {&input.qkv->value, &permuted.qkv->value}}) {
      const std::uint32_t d = from->axis(3);
      for (std::uint32_t row = 0; row < kBatch * 4 * kTokens; ++row) {
        const std::size_t source = std::size_t{row / kTokens * kTokens + order[row % kTokens]} * d;
        std::copy_n(from->values.begin() + static_cast<std::ptrdiff_t>(source), d,
                    to->values.begin() + static_cast<std::ptrdiff_t>(row) * d);
      }
    }
    test::RunningSession plain(context), moved(context);
    plain.run(network, input, {});
    moved.run(network, permuted, {});
    const Tensor before = plain.stage(kFirst, Stage::Weights), after = moved.stage(kFirst, Stage::Weights);
    double difference = 0.0;
    for (std::size_t i = 0; i < after.values.size(); ++i) {
      const std::size_t from = i / kTokens * kTokens + order[i % kTokens];
      test::widen(difference, after.values[i], before.values[from]);
    }
    CHECK(difference < 1e-6);  // observed 1.5e-8
    CHECK(largest_difference(before, after) > 1e-2);
    CHECK(largest_difference(plain.stage(kFirst, Stage::Heads), moved.stage(kFirst, Stage::Heads)) <
          1e-6);  // observed 8.9e-8
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a batch item's results are those of the item alone") {
    test::Random random(67);
    const auto network = test::single_layer(kConfig, test::random_weights(random, kConfig, true, true));
    const Tensor x = random.tensor({3, kTokens, kConfig.d_model});
    test::RunningSession together(context), alone(context);
    together.run(network, vectors(x, {kTokens, 9, 1}), masks_of("window:6"));
    const Tensor all = together.stage(kFirst, Stage::Output);
    for (std::uint32_t item = 0; item < 3; ++item) {
      const std::size_t size = std::size_t{kTokens} * kConfig.d_model;
      Tensor one({1, kTokens, kConfig.d_model});
      std::copy_n(x.values.begin() + static_cast<std::ptrdiff_t>(item * size), size, one.values.begin());
      alone.run(network, vectors(one, {std::array{kTokens, 9u, 1u}[item]}), masks_of("window:6"));
      const Tensor output = alone.stage(kFirst, Stage::Output);
      double difference = 0.0;
      for (std::size_t i = 0; i < size; ++i) {
        test::widen(difference, output.values[i], all.values[item * size + i]);
      }
      CHECK(difference == 0.0);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a scale of 1/4 is queries of a quarter, not scaled") {
    test::Random random(68);
    model::AttentionConfig scaled = kConfig, bare = kConfig;
    scaled.scale = {.kind = model::Scale::Kind::Value, .value = 0.25f};
    bare.scale = {.kind = model::Scale::Kind::None};
    const model::AttentionWeights weights = test::random_weights(random, kConfig, true, true);
    model::AttentionWeights quartered = weights;
    for (model::Parameter* parameter : {&quartered.query.weight, &quartered.query.bias}) {
      Tensor quarter = parameter->tensor();
      for (float& value : quarter.values) value *= 0.25f;
      *parameter = std::move(quarter);
    }
    const model::ModelInput input = vectors(random.tensor({kBatch, kTokens, kConfig.d_model}), {kTokens, 9});
    test::RunningSession one(context), other(context);
    one.run(test::single_layer(scaled, weights), input, masks_of("causal"));
    other.run(test::single_layer(bare, quartered), input, masks_of("causal"));
    CHECK(largest_difference(one.stage(kFirst, Stage::Weights), other.stage(kFirst, Stage::Weights)) == 0.0);
    CHECK(largest_difference(one.stage(kFirst, Stage::Output), other.stage(kFirst, Stage::Output)) == 0.0);
  }
}

}  // namespace metamorphic_gpu_test
