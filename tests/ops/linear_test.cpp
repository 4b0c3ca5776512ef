#include "ops/linear.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>
#include <span>
#include <utility>

#include "ops/linear_case.h"
#include "support/deviation.h"
#include "support/error_message.h"
#include "support/gpu_tensors.h"
#include "support/random.h"

namespace linear_test {

using namespace headlight;
using namespace headlight::ops;

namespace {

using test::check_all;
using test::fill_numbers;
using test::LinearCase;
using test::run;

/// Does the program compute it by functions of its own? A shader takes their place elsewhere.
bool is_on_host(const Kernels& kernels, LinearKernel kind) {
  return kind == LinearKernel::Host && kernels.context().device().runs_host_steps;
}

LinearCase make_case(std::uint32_t items, std::uint32_t tokens, std::uint32_t in, std::uint32_t out, std::uint32_t seed) {
  LinearCase one{.items = items,
                 .tokens = tokens,
                 .in = in,
                 .out = out,
                 .has_bias = seed % 2 == 0,
                 .activation = seed % 3 == 0 ? Activation::Relu : Activation::None};
  fill_numbers(one, seed);
  return one;
}

constexpr std::array kActivations{Activation::None, Activation::Relu,  Activation::Gelu,     Activation::GeluTanh,
                                  Activation::Silu, Activation::Relu2, Activation::QuickGelu};
constexpr std::array kCombines{Combine::None, Combine::Multiply, Combine::Add, Combine::AddBeside};

/// Numbers from −12 to 12 that the layer keeps: x is one number per row, the weight is 1.
LinearCase ramp(Activation activation, WeightType type) {
  LinearCase one{.tokens = 769, .in = 1, .out = 1, .has_bias = false, .activation = activation, .type = type};
  fill_numbers(one, 1);
  for (std::size_t i = 0; i < 769; ++i) one.x.values[i] = static_cast<float>(i) / 32.0f - 12.0f;
  one.weight.values[0] = 1.0f;
  return one;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "linear: every kernel × awkward sizes × bias × ReLU") {
    constexpr std::array<std::uint32_t, 9> kRows{1, 2, 4, 5, 8, 9, 63, 64, 65};
    constexpr std::array<std::uint32_t, 10> kWidths{1, 3, 4, 5, 63, 64, 65, 127, 128, 129};
    test::Deviation worst;
    std::uint32_t seed = 0;
    // Every pair of (in, out) and every pair of (rows, in); the third size cycles.
    for (std::size_t i = 0; i < kWidths.size(); ++i) {
      for (std::size_t o = 0; o < kWidths.size(); ++o) {
        test::widen(worst,
                    check_all(test::shared_kernels(), make_case(1, kRows[(i + o) % 9], kWidths[i], kWidths[o], seed++)));
      }
      for (std::size_t rows = 0; rows < kRows.size(); ++rows) {
        test::widen(worst, check_all(test::shared_kernels(),
                                     make_case(1, kRows[rows], kWidths[i], kWidths[(rows + 5) % 10], seed++)));
      }
    }
    CAPTURE(worst);
    CHECK(worst.max_abs < 2e-5);  // observed 8.3e-6
  }

  TEST_CASE_FIXTURE(test::OnGpu, "linear: rows of several batch items") {
    for (const auto& [items, tokens] : {std::pair{3u, 1u}, {2u, 3u}, {3u, 21u}, {5u, 13u}}) {
      const test::Deviation worst = check_all(test::shared_kernels(), make_case(items, tokens, 13, 70, tokens));
      CHECK(worst.max_abs < 2e-6);  // observed 5.9e-7
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "linear: a real layer, 768 → 2304") {
    const test::Deviation worst = check_all(test::shared_kernels(), make_case(1, 17, 768, 2304, 6));
    CAPTURE(worst);
    CHECK(worst.max_abs < 1e-4);  // observed 3.6e-5: sums of 768 products up to 1
  }

  TEST_CASE_FIXTURE(test::OnGpu, "linear: activations from −12 to 12") {
    test::Deviation worst;
    for (const Activation activation : kActivations) {
      for (const WeightType type : test::kAllWeightTypes) {
        CAPTURE(static_cast<int>(activation));
        const test::Deviation deviation = check_all(test::shared_kernels(), ramp(activation, type));
        if (activation == Activation::None || activation == Activation::Relu) CHECK(deviation.max_abs == 0.0);
        test::widen(worst, deviation);
      }
    }
    CAPTURE(worst);
    CHECK(worst.max_abs < 5e-6);  // observed 1.0e-6
  }

  TEST_CASE_FIXTURE(test::OnGpu, "linear: activations of huge numbers aren't NaN") {
    for (const Activation activation : {Activation::Relu, Activation::Gelu, Activation::GeluTanh, Activation::Silu,
                                        Activation::Relu2, Activation::QuickGelu}) {
      LinearCase one = ramp(activation, WeightType::F32);
      for (float& value : one.x.values) value = value < 0.0f ? -1e4f : 1e4f;
      CAPTURE(static_cast<int>(activation));
      CHECK(check_all(test::shared_kernels(), one).max_abs == 0.0);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "linear: every activation × every combination × parts of the rows") {
    test::Deviation worst;
    for (const Activation activation : kActivations) {
      for (const Combine combine : kCombines) {
        for (const std::uint32_t count : {1u, 3u, 7u, 21u}) {
          LinearCase one{.items = 2,
                         .tokens = 30,
                         .in = 37,
                         .out = 70,
                         .has_bias = count % 4 == 3,
                         .activation = activation,
                         .combine = combine,
                         .scale = count == 7 ? -0.375f : 1.0f,
                         .rows = Rows{30 - count, count},
                         .x_first = count == 3 ? std::optional(2u) : std::nullopt};
          if (one.x_first) one.x_tokens = 9;
          fill_numbers(one, count);
          test::widen(worst, check_all(test::shared_kernels(), one));
        }
      }
    }
    CAPTURE(worst);
    CHECK(worst.max_abs < 2e-5);  // observed 2.0e-6
  }

  TEST_CASE("linear: every tile of the tiled kernel, whole and in parts of the inner axis") {
    struct Device {
      std::uint32_t cores, max_invocations;
    };
    struct Shape {
      std::uint32_t items, tokens, in, out;
    };
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;  // lanes, parts
    for (const Device& pretended : {Device{1, 0}, Device{2, 0}, Device{1, 128}, Device{200, 0}}) {
      test::WatchedContext context({.max_invocations = pretended.max_invocations, .cores = pretended.cores});
      Kernels kernels(context);
      std::size_t number = 0;
      for (const Shape& shape : {Shape{1, 131, 70, 193},
                                 {2, 65, 19, 129},
                                 {1, 129, 16, 128},
                                 {1, 256, 40, 700},
                                 {3, 27, 770, 65},
                                 {1, 9, 1'029, 200}}) {
        const Activation activation = kActivations[number % kActivations.size()];
        LinearCase one{.items = shape.items,
                       .tokens = shape.tokens,
                       .in = shape.in,
                       .out = shape.out,
                       .activation = activation,
                       .combine = kCombines[number % kCombines.size()],
                       .type = test::kAllWeightTypes[number % test::kAllWeightTypes.size()],
                       .rows = Rows{1, shape.tokens - 1}};
        fill_numbers(one, static_cast<std::uint32_t>(number++));
        test::round_weight(one);
        constexpr std::array kTiled{LinearKernel::Tiled};
        // Squares double the error of a sum: observed 1.2e-12.
        const double most_nmse = activation == Activation::Relu2 ? 4e-12 : 1e-12;
        const test::Deviation deviation = check_all(kernels, one, most_nmse, kTiled);
        // The observed error is 2e-5 for sums of 1,029 products up to 1, and 9.2e-4 for their squares.
        CHECK(deviation.max_abs < (activation == Activation::Relu2 ? 5e-3 : 1e-4));
        const LinearTiles division =
            choose_tiles(context->device(), shape.items * (shape.tokens - 1), (shape.out + 63) / 64, (shape.in + 3) / 4);
        seen.emplace(division.lanes, std::min(division.parts, 2u));
        CHECK(run(kernels, one, LinearKernel::Tiled).dispatches == (division.parts > 1 ? 2u : 1u));
      }
    }
    for (const std::uint32_t lanes : {64u, 128u, 256u}) CHECK(seen.contains({lanes, 1u}));
    CHECK(seen.contains({64u, 2u}));
  }

  TEST_CASE("linear: a layer in parts is split like any other where bindings are small") {
    test::WatchedContext context({.max_storage_range = 65'536, .cores = 1'000});
    Kernels kernels(context);
    LinearCase one{
        .items = 3, .tokens = 16, .in = 500, .out = 200, .activation = Activation::Silu, .combine = Combine::AddBeside};
    one.type = WeightType::F16;  // a tile of the weight takes 62.5 KiB
    fill_numbers(one, 4);
    test::round_weight(one);
    constexpr std::array kTiled{LinearKernel::Tiled};
    check_all(kernels, one, 1e-12, kTiled);
  }

  TEST_CASE("linear: where workgroups are small, few rows are computed by tiles") {
    test::WatchedContext context({.max_invocations = 128});
    Kernels kernels(context);
    constexpr std::array kGemv{LinearKernel::Gemv};
    for (const std::uint32_t rows : {1u, 8u}) check_all(kernels, make_case(1, rows, 130, 70, rows), 1e-12, kGemv);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "linear: weights as float16 are rounded once, and exact where 16 bits represent them") {
    // Rounding to nearest changes a number by 2^-11 of it at most: NMSE at most (2^-11)² / 3 for random numbers.
    test::Deviation worst;
    for (const auto& [tokens, in, out] : {std::array{1u, 64u, 129u}, {3u, 65u, 64u}, {8u, 130u, 70u}, {33u, 127u, 65u}}) {
      for (const Activation activation : {Activation::None, Activation::Silu}) {
        LinearCase one{.tokens = tokens, .in = in, .out = out, .activation = activation, .type = WeightType::F16};
        fill_numbers(one, tokens);
        const test::Deviation rounded = check_all(test::shared_kernels(), one, 8e-8);  // observed 5.2e-8
        CHECK(rounded.nmse > 1e-10);                                                   // or float32 was kept
        test::widen(worst, rounded);
        // Numbers up to 1, then up to 2^-14, which are subnormal: a device may convert those to 0.
        for (const auto& stored :
             {std::pair{WeightType::F16, 1.0f}, {WeightType::F16, 0x1p-14f}, {WeightType::BF16, 1.0f}}) {
          const WeightType type = stored.first;
          const float size = stored.second;
          CAPTURE(size);
          fill_numbers(one, tokens);
          one.type = type;
          test::round_weight(one, size);
          for (const LinearKernel kind : test::kLinearKernels) {
            CAPTURE(to_string(kind));
            one.type = WeightType::F32;
            const Tensor exact = run(test::shared_kernels(), one, kind).y.values;
            one.type = type;
            if (kind == LinearKernel::Matrix && type == WeightType::F16) {
              // float32 weights are multiplied by another kernel, whose sums round elsewhere: held to double precision
              // instead.
              check_all(test::shared_kernels(), one, 1e-12, std::array{kind});  // observed 9.7e-14
              continue;
            }
            CHECK(run(test::shared_kernels(), one, kind).y.values.values == exact.values);
          }
        }
      }
    }
    CAPTURE(worst);
    CHECK(worst.max_abs < 5e-3);  // observed 2.6e-3: sums of 130 products up to 1
  }

  TEST_CASE("linear: bindings larger than the device allows are split, by batch items and by tiles of the weight") {
    test::WatchedContext context({.max_storage_range = 65'536, .max_texel_elements = 4'096});
    Kernels kernels(context);
    const LinearCase one = make_case(5, 16, 64, 1000, 4);  // y takes 62.5 KiB an item, a tile of the weight 16 KiB
    check_all(kernels, one);
    for (const LinearKernel kind : test::kLinearKernels) {
      if (!is_on_host(kernels, kind)) CHECK(run(kernels, one, kind).dispatches == 5 * 4);
    }
    LinearCase sums = one;
    sums.combine = Combine::AddBeside;
    sums.type = WeightType::F16;
    sums.rows = Rows{3, 11};
    fill_numbers(sums, 5);
    test::round_weight(sums);
    check_all(kernels, sums);
    // A tile of float16 takes 8 KiB; a texel buffer of 4,096 elements binds 32 KiB.
    for (const LinearKernel kind : test::kLinearKernels) {
      if (is_on_host(kernels, kind)) continue;
      const std::uint32_t dispatches = is_texel(kind) ? 4 : kind == LinearKernel::Matrix ? 3 : 2;  // … with rows' scales
      CHECK(run(kernels, sums, kind).dispatches == 5 * dispatches);
    }
  }

  TEST_CASE("linear: where texel buffers are too small, storage buffers are used") {
    test::WatchedContext context({.max_texel_elements = 64});
    Kernels kernels(context);
    check_all(kernels, make_case(2, 9, 64, 65, 8));
  }

  TEST_CASE("linear: one matrix larger than any binding is refused in one line") {
    test::WatchedContext context({.max_storage_range = 65'536});
    Kernels kernels(context);
    const LinearCase one = make_case(1, 300, 64, 64, 1);
    for (const LinearKernel kind : test::kLinearKernels) {
      if (is_on_host(kernels, kind)) continue;  // functions of the program bind nothing
      const std::string message = test::error_message([&] { run(kernels, one, kind); });
      CAPTURE(message);
      CHECK(test::is_one_line(message));
      CHECK(message.starts_with("one matrix of 300 tokens × 64 columns is more than the "));
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a weight that isn't [out, in] is refused") {
    const std::vector<float> weight(11);
    const LinearSource source{.weight = weight, .bias = {}, .out = 3, .in = 4};
    CHECK(test::error_message([&] {
            pack(context, {&source, 1}, "the output projection");
          }) == "the output projection: a weight of 11 numbers is not [3, 4]");
  }
}

}  // namespace linear_test
