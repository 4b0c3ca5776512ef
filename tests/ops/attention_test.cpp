#include "ops/attention.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ops/attention_case.h"
#include "support/expressions.h"
#include "support/golden.h"
#include "support/gpu_tensors.h"

namespace attention_test {

using namespace headlight;
using namespace headlight::ops;
using test::AttentionCase;

namespace {

constexpr std::array kKinds{AttentionKernel::Naive, AttentionKernel::Blocks,        AttentionKernel::BlocksTexel,
                            AttentionKernel::Tiled, AttentionKernel::BlocksShuffle, AttentionKernel::BlocksShuffleTexel,
                            AttentionKernel::Host};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Every kernel on one case.
void check_all(const AttentionCase& one, test::AttentionDeviation& worst) {
  const auto expected = test::expected(one);
  for (const AttentionKernel kind : kKinds) {
    INFO(to_string(kind), ": ", test::describe(one));
    const auto result = test::run(test::shared_kernels(), one, kind);
    const auto deviation = test::deviation(one, result, expected);
    CHECK(deviation.heads.nmse < 1e-11);      // observed 2.7e-12
    CHECK(deviation.row_max.max_abs < 1e-4);  // observed 1.8e-5: sums of 129 products up to 4, not scaled
    CHECK(deviation.row_sum.nmse < 5e-11);    // observed 7.6e-12
    CHECK(result.is_padding_zero);
    CHECK(result.is_rest_untouched);
    test::widen(worst.heads, deviation.heads);
    test::widen(worst.row_max, deviation.row_max);
    test::widen(worst.row_sum, deviation.row_sum);
  }
}

AttentionCase all_masked(attention::MaskFill fill) {
  test::Random random(5);
  AttentionCase one = test::plain_attention(random, 2, 2, 9, 6, 5, 7);
  one.mask.fill = fill;
  one.key_lengths = {6, 3};
  attention::BooleanMask matrix{.queries = 9, .keys = 6, .keep = std::vector<std::uint8_t>(9 * 6, 1)};
  for (std::uint32_t key = 0; key < 6; ++key) matrix.keep[4 * 6 + key] = 0;  // row 4 is fully masked
  one.mask.matrix = std::move(matrix);
  return one;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(
      test::OnGpu, "attention: every kernel on random shapes, groups, masks, biases, softcaps, paddings, merges and parts") {
    test::Random random(2026);
    test::AttentionDeviation worst;
    for (int i = 0; i < 250; ++i) check_all(test::random_attention(random), worst);
    CAPTURE(worst.heads);
    CAPTURE(worst.row_max);
    CAPTURE(worst.row_sum);
    CHECK(worst.heads.max_abs < 1e-5);  // observed 3.5e-6
  }

  TEST_CASE_FIXTURE(test::OnGpu, "attention: values far wider than a workgroup's columns, keys far more than queries") {
    test::Random random(7);
    test::AttentionDeviation worst;
    check_all(test::plain_attention(random, 1, 2, 33, 40, 16, 200), worst);
    check_all(test::plain_attention(random, 2, 1, 1, 1000, 8, 8), worst);
    check_all(test::plain_attention(random, 1, 1, 1000, 1, 8, 8), worst);
    AttentionCase causal = test::plain_attention(random, 1, 1, 700, 700, 4, 4);
    causal.mask.rule.causal = true;
    check_all(causal, worst);
    CHECK(worst.heads.max_abs < 1e-6);  // observed 1.1e-7
  }

  TEST_CASE_FIXTURE(test::OnGpu, "attention: every kernel under expressions that the user typed") {
    test::Random random(29);
    test::AttentionDeviation worst;
    for (std::uint32_t number = 0; number < 4; ++number) {
      AttentionCase one = test::expressed_attention(random, number);
      check_all(one, worst);
      one.first_query = 20;  // a part of the rows, as after typing
      check_all(one, worst);
    }
    CAPTURE(worst.heads);
    CHECK(worst.heads.max_abs < 1e-5);  // observed 1.7e-7
  }

  TEST_CASE_FIXTURE(test::OnGpu, "attention: expressions compute what PyTorch does for ALiBi, a window and a soft cap") {
    const nlohmann::json golden = test::golden("expressions.json");
    AttentionCase one;
    one.config = {.d_model = 24, .heads = 4, .d_k = 6, .d_v = 6};
    one.queries = one.keys = 12;
    one.key_lengths = {12};
    const auto tensor = [&](const char* name) {
      Tensor values({1, 4, 12, 6});
      const std::vector<double> numbers = test::flatten(golden[name]);
      std::ranges::transform(numbers, values.values.begin(), [](double number) { return static_cast<float>(number); });
      return values;
    };
    one.q = tensor("q");
    one.k = tensor("k");
    one.v = tensor("v");
    double worst = 0.0;
    struct Formula {
      const char *name, *mask, *score;
    };
    for (const Formula& formula :
         {Formula{"alibi", "k <= q", "score - exp2(-8.0 * float(head + 1) / float(n_heads)) * float(abs(q - k))"},
          Formula{"window", "k <= q && q - k < 4", ""},
          Formula{"softcap", "k <= q", "slider(cap, 1, 100, 1.5) * tanh(score / cap)"}}) {
      one.mask.mask_expression = test::mask_expression(formula.mask);
      one.mask.score_expression = test::score_expression(formula.score);
      for (const AttentionKernel kind : {AttentionKernel::Tiled, AttentionKernel::Host}) {
        const auto result = test::run(test::shared_kernels(), one, kind);
        INFO(formula.name, " by ", to_string(kind));
        const double off = test::max_difference(result.heads, test::flatten(golden[formula.name]["output"]));
        CHECK(off < 1e-5);
        test::raise_to(worst, off);
      }
    }
    CAPTURE(worst);
    CHECK(worst < 1e-5);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "attention: large scores neither overflow nor underflow") {
    test::Random random(11);
    AttentionCase one = test::plain_attention(random, 1, 2, 20, 20, 8, 8);
    for (float& value : one.q.values) value *= 1e3f;
    const auto expected = test::expected(one);
    for (const AttentionKernel kind : kKinds) {
      const auto deviation = test::deviation(one, test::run(test::shared_kernels(), one, kind), expected);
      CAPTURE(to_string(kind));
      CHECK(deviation.heads.max_abs < 1e-5);  // observed 1.3e-7
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "attention: a fully masked row under −inf has no weights and a zero output") {
    const AttentionCase one = all_masked(attention::MaskFill::NegativeInfinity);
    for (const AttentionKernel kind : kKinds) {
      CAPTURE(to_string(kind));
      const auto result = test::run(test::shared_kernels(), one, kind);
      for (std::size_t map = 0; map < 4; ++map) {
        CHECK(result.row_max[map * 9 + 4] == -kInfinity);
        CHECK(result.row_sum[map * 9 + 4] == 0.0f);
        for (std::size_t c = 0; c < 7; ++c) CHECK(result.heads[(map * 9 + 4) * 7 + c] == 0.0f);
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "attention: a fully masked row under a finite fill is uniform over all keys, padding included") {
    for (const attention::MaskFill fill : {attention::MaskFill::MinusOneBillion, attention::MaskFill::MinusTenBillion}) {
      const AttentionCase one = all_masked(fill);
      for (const AttentionKernel kind : kKinds) {
        CAPTURE(to_string(kind));
        const auto result = test::run(test::shared_kernels(), one, kind);
        for (std::size_t map = 0; map < 4; ++map) {
          CHECK(result.row_max[map * 9 + 4] == attention::fill_value(fill));
          CHECK(result.row_sum[map * 9 + 4] == 6.0f);
          for (std::size_t c = 0; c < 7; ++c) {
            double mean = 0.0;
            for (std::size_t key = 0; key < 6; ++key) mean += static_cast<double>(one.v.values[(map * 6 + key) * 7 + c]) / 6;
            CHECK(static_cast<double>(result.heads[(map * 9 + 4) * 7 + c]) == doctest::Approx(mean).epsilon(1e-5));
          }
        }
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "attention: a pass of one kernel is one dispatch, by blocks it is three") {
    test::Random random(3);
    const AttentionCase one = test::plain_attention(random, 2, 3, 20, 20, 8, 8);
    CHECK(test::run(test::shared_kernels(), one, AttentionKernel::Naive).dispatches == 1);
    CHECK(test::run(test::shared_kernels(), one, AttentionKernel::Tiled).dispatches == 1);
    CHECK(test::run(test::shared_kernels(), one, AttentionKernel::Blocks).dispatches == 3);
    CHECK(test::run(test::shared_kernels(), one, AttentionKernel::BlocksTexel).dispatches == 3);
  }
}

}  // namespace attention_test
