// Linear layers of float16 weights by units that multiply matrices, or the same numbers by plain code where a device has
// none.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

#include "ops/linear_case.h"

namespace linear_matrix_test {

using namespace headlight;
using namespace headlight::ops;
using test::check_all;
using test::fill_numbers;
using test::LinearCase;
using test::LinearOutcome;
using test::run;

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "linear: products of float16 matrices are those of float32 for rows of any size") {
    struct Shape {
      std::uint32_t items, tokens, in, out;
    };
    constexpr std::array kMatrix{LinearKernel::Matrix};
    test::Deviation worst;
    std::size_t number = 0;
    for (const Shape& shape :
         {Shape{1, 9, 1, 1}, {1, 64, 31, 64}, {2, 65, 32, 129}, {1, 131, 33, 65}, {3, 27, 768, 200}, {1, 17, 1'029, 63}}) {
      LinearCase one{.items = shape.items,
                     .tokens = shape.tokens,
                     .in = shape.in,
                     .out = shape.out,
                     .has_bias = false,
                     .type = WeightType::F16,
                     .rows = Rows{1, shape.tokens - 1}};
      fill_numbers(one, static_cast<std::uint32_t>(number++));
      const float width = 1.0f / std::sqrt(static_cast<float>(shape.in));  // of a layer: y is as large as x
      test::round_weight(one, width);
      const LinearOutcome plain = run(test::shared_kernels(), one, LinearKernel::Matrix);
      test::widen(worst, check_all(test::shared_kernels(), one, 1e-12, kMatrix));  // observed 1.3e-14
      // Powers of two change nothing but the exponent, also far beyond float16's.
      for (std::size_t i = 0; i < one.x.values.size(); ++i) {
        one.x.values[i] = std::ldexp(one.x.values[i], static_cast<int>(i / shape.in * 13 % 180) - 90);
      }
      const LinearOutcome scaled = run(test::shared_kernels(), one, LinearKernel::Matrix);
      for (std::size_t i = 0; i < scaled.y.values.values.size(); ++i) {
        const std::size_t token = i / shape.out % shape.tokens, item = i / shape.out / shape.tokens;
        if (token == 0) continue;  // not computed
        const int exponent = static_cast<int>((item * shape.tokens + token) * 13 % 180) - 90;
        if (scaled.y.values.values[i] != std::ldexp(plain.y.values.values[i], exponent)) {
          CAPTURE(i);
          CHECK(scaled.y.values.values[i] == std::ldexp(plain.y.values.values[i], exponent));
          break;
        }
      }
    }
    CAPTURE(worst);
    CHECK(worst.max_abs < 2e-5);  // observed 1.4e-6, of y up to 2
  }

  TEST_CASE_FIXTURE(test::OnGpu, "linear: products of float16 matrices keep what isn't finite in its row") {
    LinearCase one{.tokens = 70, .in = 40, .out = 70, .has_bias = false, .type = WeightType::F16};
    fill_numbers(one, 2);
    test::round_weight(one);
    const LinearOutcome finite = run(test::shared_kernels(), one, LinearKernel::Matrix);
    one.x.values[5 * 40 + 7] = std::numeric_limits<float>::quiet_NaN();
    one.x.values[66 * 40 + 39] = std::numeric_limits<float>::infinity();
    const LinearOutcome odd = run(test::shared_kernels(), one, LinearKernel::Matrix);
    for (std::size_t i = 0; i < odd.y.values.values.size(); ++i) {
      const bool is_odd = i / 70 == 5 || i / 70 == 66;
      CAPTURE(i);
      if (is_odd) {
        REQUIRE_FALSE(std::isfinite(odd.y.values.values[i]));
      } else {
        REQUIRE(odd.y.values.values[i] == finite.y.values.values[i]);
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "linear: float16 weights take their own kernel for many rows, float32 weights never") {
    LinearCase one{.tokens = 40, .in = 65, .out = 70};
    fill_numbers(one, 4);
    Kernels kernels(context);
    kernels.set_tuning(
        {.few_rows = LinearKernel::Vec4, .many_rows = LinearKernel::Vec4, .many_rows_of_halves = LinearKernel::Matrix});
    const auto uses_matrices = [&](WeightType type, std::uint32_t rows) {
      const LinearSource source{.weight = one.weight.values, .out = one.out, .in = one.in, .type = type};
      const PackedLinear packed = pack(context, {&source, 1}, "a test");
      Kernels fresh(context);
      fresh.set_tuning(kernels.tuning());
      gpu::Stream stream(context);
      const DeviceTensor x = test::put(stream, one.x), y(stream, 1, 1, one.tokens, one.out, "a test");
      const Kernels::Listing listing(fresh);
      linear(stream, fresh, x, packed, y, {.rows = Rows{0, rows}});
      REQUIRE(fresh.listed().size() == 1);
      return fresh.listed().front().starts_with("linear_matrix");
    };
    CHECK(uses_matrices(WeightType::F16, 40));
    CHECK_FALSE(uses_matrices(WeightType::F16, 8));
    CHECK_FALSE(uses_matrices(WeightType::F32, 40));
    CHECK_FALSE(uses_matrices(WeightType::BF16, 40));
  }
}

}  // namespace linear_matrix_test
