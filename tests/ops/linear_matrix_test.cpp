// Linear layers of float16 weights by units that multiply matrices, or the same numbers by plain code where a device has
// none.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "ops/kernel_variant.h"
#include "ops/linear_case.h"

namespace linear_matrix_test {

using namespace headlight;
using namespace headlight::ops;
using test::check_all;
using test::fill_numbers;
using test::LinearCase;
using test::LinearOutcome;
using test::run;

/// Returns the names of all variants of a shader.
std::set<std::string> names_of(Shader shader) {
  std::set<std::string> names;
  for (const KernelVariant& variant : kernel_variants(false)) {
    if (variant.shader == shader) names.insert(to_string(variant));
  }
  return names;
}

/// Layers of such weights by the tiles that are left, against double precision; widens `worst`.
void check_rows(WeightType type, Shader left_out, test::Deviation& worst) {
  test::WatchedContext context({.cores = 1, .has_private_memory = true});
  Kernels kernels(context);
  kernels.exclude(names_of(left_out));
  struct Shape {
    std::uint32_t items, tokens, in, out;
  };
  constexpr std::array kMatrix{LinearKernel::Matrix};
  std::size_t number = 0;
  for (const Shape& shape :
       {Shape{1, 9, 1, 1}, {1, 64, 31, 64}, {2, 65, 32, 129}, {1, 131, 33, 65}, {3, 27, 768, 200}, {1, 17, 1'029, 63}}) {
    LinearCase one{.items = shape.items,
                   .tokens = shape.tokens,
                   .in = shape.in,
                   .out = shape.out,
                   .has_bias = false,
                   .type = type,
                   .rows = Rows{1, shape.tokens - 1}};
    fill_numbers(one, static_cast<std::uint32_t>(number++));
    const float width = 1.0f / std::sqrt(static_cast<float>(shape.in));  // of a layer: y is as large as x
    test::round_weight(one, width);
    const LinearOutcome plain = run(kernels, one, LinearKernel::Matrix);
    test::widen(worst, check_all(kernels, one, 1e-12, kMatrix));  // observed 1.3e-14
    // Powers of two change nothing but the exponent, also far beyond float16's.
    for (std::size_t i = 0; i < one.x.values.size(); ++i) {
      one.x.values[i] = std::ldexp(one.x.values[i], static_cast<int>(i / shape.in * 13 % 180) - 90);
    }
    const LinearOutcome scaled = run(kernels, one, LinearKernel::Matrix);
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
}

TEST_SUITE("gpu") {
  TEST_CASE("linear: products of float16 matrices are those of float32 for rows of any size") {
    test::Deviation worst;
    for (const WeightType type : {WeightType::F16, WeightType::BF16}) {
      for (const Shader left_out : {Shader::LinearMatrixLarge, Shader::LinearMatrix}) check_rows(type, left_out, worst);
    }
    CAPTURE(worst);
    CHECK(worst.max_abs < 2e-5);  // observed 1.6e-6, of y up to 2
  }

  TEST_CASE("linear: products of float16 matrices keep what isn't finite in its row") {
    test::WatchedContext context({.cores = 1});
    Kernels kernels(context);
    LinearCase one{.tokens = 70, .in = 40, .out = 70, .has_bias = false, .type = WeightType::F16};
    fill_numbers(one, 2);
    test::round_weight(one);
    const LinearOutcome finite = run(kernels, one, LinearKernel::Matrix);
    one.x.values[5 * 40 + 7] = std::numeric_limits<float>::quiet_NaN();
    one.x.values[66 * 40 + 39] = std::numeric_limits<float>::infinity();
    const LinearOutcome odd = run(kernels, one, LinearKernel::Matrix);
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

  TEST_CASE("linear: float16 weights take their own kernel for many rows that keep the device busy, float32 weights never") {
    for (const std::uint32_t cores : {1U, 100U}) {
      CAPTURE(cores);
      test::WatchedContext context({.cores = cores});
      LinearCase one{.tokens = 40, .in = 65, .out = 70};
      fill_numbers(one, 4);
      Kernels kernels(context);
      kernels.set_tuning(
          {.few_rows = LinearKernel::Vec4, .many_rows = LinearKernel::Vec4, .many_rows_of_halves = LinearKernel::Matrix});
      const auto uses_matrices = [&](WeightType type, std::uint32_t rows) -> bool {
        const LinearSource source{.weight = one.weight.values, .out = one.out, .in = one.in, .type = type};
        const PackedLinear packed = pack(context, {&source, 1}, "a test");
        Kernels fresh(context);
        fresh.set_tuning(kernels.tuning());
        gpu::Stream stream(context);
        const DeviceTensor x = test::put(stream, one.x), y(stream, 1, 1, one.tokens, one.out, "a test");
        const Kernels::Listing listing(fresh);
        linear(stream, fresh, x, packed, y, {.rows = Rows{0, rows}});
        return std::ranges::any_of(fresh.listed(),
                                   [](const std::string& name) { return name.starts_with("linear_matrix"); });
      };
      CHECK(uses_matrices(WeightType::F16, 40) == (cores == 1));
      CHECK_FALSE(uses_matrices(WeightType::F16, 8));
      CHECK_FALSE(uses_matrices(WeightType::F32, 40));
      // The largest bfloat16 isn't looked for in memory that host and device share.
      const bool is_shared = context->device().kind != "discrete GPU";
      CHECK(uses_matrices(WeightType::BF16, 40) == (cores == 1 && !is_shared));
    }
  }

  TEST_CASE("linear: a bfloat16 weight of any size, with numbers far smaller than its largest, is multiplied by matrices") {
    test::WatchedContext context({.cores = 1, .has_private_memory = true});
    Kernels kernels(context);
    constexpr std::array kMatrix{LinearKernel::Matrix};
    for (const int exponent : {-60, -10, 0, 60}) {
      LinearCase one{.tokens = 70, .in = 40, .out = 70, .has_bias = false, .type = WeightType::BF16};
      fill_numbers(one, 5);
      test::round_weight(one);
      for (std::size_t i = 0; i < one.weight.values.size(); ++i) {
        one.weight.values[i] = std::ldexp(one.weight.values[i], exponent - static_cast<int>(i % 20));
      }
      CAPTURE(exponent);
      check_all(kernels, one, 1e-12, kMatrix);  // observed 1.9e-14
    }
    // An infinite weight is multiplied as it is, by another kernel.
    LinearCase one{.tokens = 70, .in = 40, .out = 70, .has_bias = false, .type = WeightType::BF16};
    fill_numbers(one, 6);
    test::round_weight(one);
    const LinearOutcome finite = run(kernels, one, LinearKernel::Tiled);
    one.weight.values[3] = std::numeric_limits<float>::infinity();
    const LinearOutcome odd = run(kernels, one, LinearKernel::Matrix);
    for (std::size_t i = 0; i < odd.y.values.values.size(); ++i) {
      CAPTURE(i);
      if (i % 70 == 0) {
        REQUIRE_FALSE(std::isfinite(odd.y.values.values[i]));
      } else {
        REQUIRE(odd.y.values.values[i] == finite.y.values.values[i]);
      }
    }
  }
}

}  // namespace linear_matrix_test
