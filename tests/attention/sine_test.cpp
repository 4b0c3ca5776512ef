// sin and cos of expressions on the device, which lib/sine.glsl computes instead of the driver.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "attention/expression_shader.h"
#include "support/gpu.h"
#include "support/random.h"

namespace sine_test {

using namespace headlight;

namespace {

struct Values {
  std::vector<float> sines, cosines;
};

Values on_device(gpu::Context& context, const std::vector<float>& angles) {
  std::vector<std::uint32_t> words;
  for (const float angle : angles) words.push_back(std::bit_cast<std::uint32_t>(angle));
  const auto count = static_cast<std::uint32_t>(angles.size());
  const std::vector<std::uint32_t> spirv = test::compile_expressions(
      "", fmt::format("layout(set = 0, binding = 1) buffer result_buffer {{ float result[]; }};\nvoid main() {{\n"
                      "  float angle = uintBitsToFloat(MASK_WORDS(gl_WorkGroupID.x));\n"
                      "  result[gl_WorkGroupID.x] = exact_sin(angle);\n"
                      "  result[gl_WorkGroupID.x + {}u] = exact_cos(angle);\n}}\n",
                      count));
  const std::vector<float> both = test::run_expressions(context, spirv, words, std::size_t{2} * count, {count, 1, 1});
  return {{both.begin(), both.begin() + count}, {both.begin() + count, both.end()}};
}

/// Returns the largest difference between the device's values and those of double precision.
double worst_error(gpu::Context& context, const std::vector<float>& angles) {
  const Values values = on_device(context, angles);
  double worst = 0.0;
  for (std::size_t i = 0; i < angles.size(); ++i) {
    CAPTURE(angles[i]);
    const double angle = std::clamp(static_cast<double>(angles[i]), -1048576.0, 1048576.0);
    const double of_sine = std::abs(static_cast<double>(values.sines[i]) - std::sin(angle));
    const double of_cosine = std::abs(static_cast<double>(values.cosines[i]) - std::cos(angle));
    CHECK(std::isfinite(of_sine + of_cosine));
    worst = std::max({worst, of_sine, of_cosine});
  }
  return worst;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "sine and cosine are right to 2e-7 up to a million, and stay beyond") {
    test::Random random(3);
    std::vector<float> small, whole, any;
    for (int i = -2000; i <= 2000; ++i) {
      small.push_back(0.005f * static_cast<float>(i));
      whole.push_back(static_cast<float>(i) * 524.0f);  // as of token ids
    }
    while (any.size() < 8'000) {
      const float angle = std::bit_cast<float>(random.below(0xffff'ffffU));
      if (std::isfinite(angle)) any.push_back(angle);
    }
    CHECK(worst_error(context, small) < 2e-7);
    CHECK(worst_error(context, whole) < 2e-7);
    CHECK(worst_error(context, any) < 2e-7);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "sine and cosine beside multiples of a quarter turn") {
    std::vector<float> angles{0.0f, -0.0f, 1048576.0f, -1048576.0f, std::numeric_limits<float>::infinity()};
    for (int i = -2000; i <= 2000; ++i) {
      const int quarters = std::abs(i) < 50 ? i : i * 333;
      const auto nearest = static_cast<float>(quarters * 1.5707963267948966);
      for (const float infinity : {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()})
        angles.push_back(std::nextafter(nearest, infinity));
      angles.push_back(nearest);
      angles.push_back(static_cast<float>((quarters + 0.5) * 1.5707963267948966));  // where the nearest one changes
    }
    CHECK(worst_error(context, angles) < 2e-7);

    const Values values = on_device(context, {3.14159274f, -3.14159274f, 1e-30f});
    const double expected = std::sin(static_cast<double>(3.14159274f));  // -8.74e-8
    CHECK(values.sines[0] == doctest::Approx(expected).epsilon(1e-6).scale(0.0));
    CHECK(values.sines[1] == doctest::Approx(-expected).epsilon(1e-6).scale(0.0));
    CHECK(values.sines[2] == 1e-30f);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "sine and cosine of NaN are NaN") {
    const Values values = on_device(context, {std::numeric_limits<float>::quiet_NaN()});
    CHECK(std::isnan(values.sines[0]));
    CHECK(std::isnan(values.cosines[0]));
  }
}

}  // namespace sine_test
