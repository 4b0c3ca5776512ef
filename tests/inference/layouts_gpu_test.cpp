// The four layouts of Q, K and V weights, each computed here from the weight as stored.
#include <doctest/doctest.h>

#include <functional>

#include "inference/random_network.h"
#include "support/deviation.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace layouts_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;

namespace {

constexpr model::AttentionConfig kConfig{.d_model = 10, .heads = 3, .d_k = 4, .d_v = 5};
constexpr std::uint32_t kBatch = 2, kTokens = 7;
constexpr double kClose = 2e-6;  // observed 2.8e-7 and less

/// Runs one layer with these weights and compares Q, K and V with x times the rows that `row_of` names for (head, column).
struct Layout {
  model::Parameter weight;  ///< [rows, d_model]
  model::Parameter bias;    ///< [rows] or empty
  std::function<std::uint32_t(std::uint32_t head, std::uint32_t column)> row_of;
};

/// [heads, d, d_model] as rows of d_model.
Tensor flat(const Tensor& per_head) { return {{per_head.axis(0) * per_head.axis(1), per_head.axis(2)}, per_head.values}; }

double off(test::RunningSession& session, Stage stage, const Tensor& x, const Layout& layout) {
  const Tensor found = session.stage({}, stage);
  const std::uint32_t d = found.axis(3);
  std::vector<double> expected;
  for (std::uint32_t item = 0; item < kBatch; ++item) {
    for (std::uint32_t head = 0; head < kConfig.heads; ++head) {
      for (std::uint32_t token = 0; token < kTokens; ++token) {
        for (std::uint32_t column = 0; column < d; ++column) {
          const std::uint32_t row = layout.row_of(head, column);
          double sum = layout.bias.is_empty() ? 0.0 : static_cast<double>(layout.bias.values()[row]);
          for (std::uint32_t i = 0; i < kConfig.d_model; ++i) {
            sum += static_cast<double>(x.at({item, token, i})) *
                   static_cast<double>(layout.weight.values()[row * kConfig.d_model + i]);
          }
          expected.push_back(sum);
        }
      }
    }
  }
  return test::deviation(found.values, expected).max_abs;
}

/// A session that ran one layer with these weights over x.
test::RunningSession run(gpu::Context& context, const Tensor& x, model::AttentionWeights weights) {
  model::ModelInput input;
  input.source = {.batch = kBatch, .length = kTokens, .lengths = {kTokens, kTokens}, .ids = {}, .vectors = x};
  test::RunningSession session(context);
  session.run(test::single_layer(kConfig, std::move(weights)), input, {});
  return session;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "separate weights of Q, K and V, with and without bias") {
    for (const bool has_bias : {true, false}) {
      test::Random random(1);
      const Tensor x = random.tensor({kBatch, kTokens, kConfig.d_model});
      const model::AttentionWeights weights = test::random_weights(random, kConfig, has_bias, false);
      test::RunningSession session = run(context, x, weights);
      const auto rows = [](std::uint32_t d) {
        return [d](std::uint32_t head, std::uint32_t column) { return head * d + column; };
      };
      CHECK(off(session, Stage::Q, x, {weights.query.weight, weights.query.bias, rows(kConfig.d_k)}) < kClose);
      CHECK(off(session, Stage::K, x, {weights.key.weight, weights.key.bias, rows(kConfig.d_k)}) < kClose);
      CHECK(off(session, Stage::V, x, {weights.value.weight, weights.value.bias, rows(kConfig.d_v)}) < kClose);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "one fused weight [q | k | v]") {
    for (const bool has_bias : {true, false}) {
      test::Random random(2);
      const Tensor x = random.tensor({kBatch, kTokens, kConfig.d_model});
      const model::Linear fused =
          test::random_linear(random, kConfig.d_model, kConfig.heads * (2 * kConfig.d_k + kConfig.d_v), has_bias);
      test::RunningSession session = run(context, x, split_fused(fused, model::FusedLayout::QueryKeyValue, kConfig));
      const std::uint32_t keys_at = kConfig.heads * kConfig.d_k;
      CHECK(off(session, Stage::Q, x,
                {fused.weight, fused.bias, [](auto head, auto column) { return head * kConfig.d_k + column; }}) < kClose);
      CHECK(off(session, Stage::K, x, {fused.weight, fused.bias, [=](auto head, auto column) {
                                         return keys_at + head * kConfig.d_k + column;
                                       }}) < kClose);
      CHECK(off(session, Stage::V, x, {fused.weight, fused.bias, [=](auto head, auto column) {
                                         return 2 * keys_at + head * kConfig.d_v + column;
                                       }}) < kClose);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "one fused weight interleaved per head (notebook 003)") {
    for (const bool has_bias : {true, false}) {
      test::Random random(3);
      const Tensor x = random.tensor({kBatch, kTokens, kConfig.d_model});
      constexpr std::uint32_t kHeadRows = 2 * kConfig.d_k + kConfig.d_v;
      const model::Linear fused = test::random_linear(random, kConfig.d_model, kConfig.heads * kHeadRows, has_bias);
      test::RunningSession session = run(context, x, split_fused(fused, model::FusedLayout::PerHead, kConfig));
      CHECK(off(session, Stage::Q, x,
                {fused.weight, fused.bias, [](auto head, auto column) { return head * kHeadRows + column; }}) < kClose);
      CHECK(off(session, Stage::K, x, {fused.weight, fused.bias, [](auto head, auto column) {
                                         return head * kHeadRows + kConfig.d_k + column;
                                       }}) < kClose);
      CHECK(off(session, Stage::V, x, {fused.weight, fused.bias, [](auto head, auto column) {
                                         return head * kHeadRows + 2 * kConfig.d_k + column;
                                       }}) < kClose);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "one weight tensor per head (notebook 004)") {
    test::Random random(4);
    const Tensor x = random.tensor({kBatch, kTokens, kConfig.d_model});
    const Tensor query = random.tensor({kConfig.heads, kConfig.d_k, kConfig.d_model}),
                 key = random.tensor({kConfig.heads, kConfig.d_k, kConfig.d_model}),
                 value = random.tensor({kConfig.heads, kConfig.d_v, kConfig.d_model});
    test::RunningSession session = run(context, x, from_per_head(query, key, value, kConfig));
    const auto rows = [](std::uint32_t d) {
      return [d](std::uint32_t head, std::uint32_t column) { return head * d + column; };
    };
    CHECK(off(session, Stage::Q, x, {flat(query), {}, rows(kConfig.d_k)}) < kClose);
    CHECK(off(session, Stage::K, x, {flat(key), {}, rows(kConfig.d_k)}) < kClose);
    CHECK(off(session, Stage::V, x, {flat(value), {}, rows(kConfig.d_v)}) < kClose);
  }
}

}  // namespace layouts_gpu_test
