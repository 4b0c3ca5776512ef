#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "ops/attention.h"
#include "ops/attention_case.h"
#include "ops/linear.h"
#include "support/deviation.h"
#include "support/gpu_tensors.h"

namespace not_finite_test {

using namespace headlight;
using namespace headlight::ops;
using test::AttentionCase;

namespace {

constexpr std::array kKinds{AttentionKernel::Naive, AttentionKernel::Blocks,        AttentionKernel::BlocksTexel,
                            AttentionKernel::Tiled, AttentionKernel::BlocksShuffle, AttentionKernel::BlocksShuffleTexel,
                            AttentionKernel::Host};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kTokens = 70, kWidth = 8;

AttentionCase causal() {
  test::Random random(31);
  AttentionCase one = test::plain_attention(random, 1, 2, kTokens, kTokens, kWidth, 5);
  one.mask.rule.causal = true;
  return one;
}

/// Number `column` of a token's query or key in both heads.
void put_number(Tensor& tensor, std::uint32_t token, std::uint32_t column, float value) {
  for (std::uint32_t head = 0; head < 2; ++head) tensor.values[(head * kTokens + token) * kWidth + column] = value;
}

/// The result of a row: its statistics and its output.
enum class Row { Finite, Weightless, NotANumber, Mixed };

template <typename Number>
Row row_of(const test::AttentionResult<Number>& result, std::size_t row, std::size_t d_v) {
  const Number* heads = result.heads.data() + row * d_v;
  const auto all = [&](const auto& is) { return std::all_of(heads, heads + d_v, is); };
  const Number sum = result.row_sum[row];
  if (std::isnan(sum) && all([](Number value) { return std::isnan(value); })) return Row::NotANumber;
  if (sum == Number{0} && all([](Number value) { return value == Number{0}; })) return Row::Weightless;
  if (std::isfinite(sum) && sum > Number{0} && all([](Number value) { return std::isfinite(value); })) return Row::Finite;
  return Row::Mixed;
}

std::size_t check_rows(const AttentionCase& one, Row counted) {
  const auto wanted = test::expected(one);
  std::size_t count = 0;
  double worst = 0.0;
  for (const AttentionKernel kind : kKinds) {
    INFO(to_string(kind), ": ", test::describe(one));
    const auto result = test::run(test::shared_kernels(), one, kind);
    for (std::size_t row = 0; row < wanted.row_sum.size(); ++row) {
      CAPTURE(row);
      const Row expected = row_of(wanted, row, one.config.d_v);
      REQUIRE(expected != Row::Mixed);
      CHECK(row_of(result, row, one.config.d_v) == expected);
      if (kind == kKinds[0]) count += expected == counted ? 1U : 0U;
      if (expected != Row::Finite) continue;
      for (std::size_t c = 0; c < one.config.d_v; ++c) {
        const std::size_t at = row * one.config.d_v + c;
        test::widen(worst, static_cast<double>(result.heads[at]), wanted.heads[at]);
      }
    }
  }
  CHECK(worst < 1e-6);  // observed 9.3e-8
  return count;
}

/// y [1, 1, token, out] = activation(x · Wᵀ).
Tensor run_linear(const Tensor& x, const Tensor& weight, Activation activation, LinearKernel kind) {
  Kernels& kernels = test::shared_kernels();
  kernels.set_tuning({.few_rows = kind, .many_rows = kind});
  const LinearSource source{.weight = weight.values, .out = weight.axis(0), .in = weight.axis(1)};
  const PackedLinear packed = pack(kernels.context(), {&source, 1}, "a test");
  gpu::Stream stream(kernels.context());
  const DeviceTensor from = test::put(stream, x);
  const DeviceTensor to(stream, 1, 1, x.axis(2), weight.axis(0), "a test");
  linear(stream, kernels, from, packed, to, {.activation = activation});
  const gpu::Download bytes = stream.download(to.buffer());
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  return test::take(to, submission.values<float>(bytes)).values;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "attention: rows that attend to NaN are NaN, the others are unchanged") {
    AttentionCase one = causal();
    put_number(one.q, 3, 5, kNan);
    put_number(one.k, 40, 2, kNan);
    CHECK(check_rows(one, Row::NotANumber) == 2 * (1 + 30));
    one.config.softcap = 30.0f;  // tanh must not hide it
    CHECK(check_rows(one, Row::NotANumber) == 2 * (1 + 30));
    one.config.softcap = 0.0f;
    one.mask.fill = attention::MaskFill::MinusOneBillion;
    CHECK(check_rows(one, Row::NotANumber) == 2 * (1 + 30));
  }

  TEST_CASE_FIXTURE(test::OnGpu, "attention: a score of +∞ makes its row NaN, one of −∞ among finite ones has no weight") {
    AttentionCase one = causal();
    for (float& value : one.q.values) value = std::abs(value) + 0.1f;
    put_number(one.k, 33, 1, kInfinity);
    CHECK(check_rows(one, Row::NotANumber) == 2 * 37);
    put_number(one.k, 33, 1, -kInfinity);
    CHECK(check_rows(one, Row::NotANumber) == 0);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "attention: a row without weights is fully masked, not one whose scores are all −∞") {
    AttentionCase one = causal();
    for (float& value : one.q.values) value = std::abs(value) + 0.1f;
    for (std::uint32_t token = 0; token < kTokens; ++token) put_number(one.k, token, 1, -kInfinity);
    CHECK(check_rows(one, Row::NotANumber) == 2 * kTokens);
    attention::BooleanMask matrix{
        .queries = kTokens, .keys = kTokens, .keep = std::vector<std::uint8_t>(std::size_t{kTokens} * kTokens, 1)};
    for (std::uint32_t key = 0; key < kTokens; ++key) matrix.keep[std::size_t{50} * kTokens + key] = 0;
    one.mask.matrix = std::move(matrix);
    CHECK(check_rows(one, Row::Weightless) == 2);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "linear: every activation keeps NaN") {
    test::Random random(32);
    Tensor x = random.tensor({1, 1, 3, 4});
    x.values[5] = kNan;  // of row 1
    const Tensor weight = random.tensor({9, 4});
    for (const Activation activation : {Activation::None, Activation::Relu, Activation::Gelu, Activation::GeluTanh,
                                        Activation::Silu, Activation::Relu2, Activation::QuickGelu}) {
      for (const LinearKernel kind : {LinearKernel::Naive, LinearKernel::Vec4, LinearKernel::Tiled, LinearKernel::Host}) {
        INFO(to_string(kind), ", activation ", static_cast<int>(activation));
        const Tensor y = run_linear(x, weight, activation, kind);
        for (std::size_t at = 0; at < y.values.size(); ++at) CHECK(std::isnan(y.values[at]) == (at / 9 == 1));
      }
    }
  }
}

}  // namespace not_finite_test
