#include "ops/linear.h"

#include <doctest/doctest.h>

#include <array>

#include "support/deviation.h"
#include "support/error_message.h"
#include "support/gpu_tensors.h"
#include "support/random.h"

using namespace headlight;
using namespace headlight::ops;

namespace {

constexpr std::array kKinds{LinearKernel::Naive, LinearKernel::Vec4,    LinearKernel::Vec4Texel,
                            LinearKernel::Tiled, LinearKernel::Shuffle, LinearKernel::ShuffleTexel};

struct LinearCase {
  std::uint32_t items = 1, tokens = 1, in = 1, out = 1;
  bool has_bias = true;
  Activation activation = Activation::None;
  Tensor x, weight, bias;
};

LinearCase make_case(std::uint32_t items, std::uint32_t tokens, std::uint32_t in, std::uint32_t out, std::uint32_t seed) {
  test::Random random(seed);
  return {.items = items,
          .tokens = tokens,
          .in = in,
          .out = out,
          .has_bias = seed % 2 == 0,
          .activation = seed % 3 == 0 ? Activation::Relu : Activation::None,
          .x = random.tensor({items, 1, tokens, in}),
          .weight = random.tensor({out, in}),
          .bias = random.tensor({out})};
}

std::vector<double> expected(const LinearCase& one) {
  std::vector<double> y;
  for (std::size_t row = 0; row < std::size_t{one.items} * one.tokens; ++row) {
    for (std::size_t o = 0; o < one.out; ++o) {
      double sum = one.has_bias ? static_cast<double>(one.bias.values[o]) : 0.0;
      for (std::size_t i = 0; i < one.in; ++i) {
        sum += static_cast<double>(one.x.values[row * one.in + i]) * static_cast<double>(one.weight.values[o * one.in + i]);
      }
      y.push_back(one.activation == Activation::Relu ? std::max(sum, 0.0) : sum);
    }
  }
  return y;
}

struct Outcome {
  test::Taken y;
  std::uint32_t dispatches = 0;
};

Outcome run(Kernels& kernels, const LinearCase& one, LinearKernel kind) {
  kernels.set_tuning({.few_rows = kind, .many_rows = kind});
  gpu::Context& context = kernels.context();
  const LinearSource source{.weight = one.weight.values,
                            .bias = one.has_bias ? std::span<const float>(one.bias.values) : std::span<const float>(),
                            .out = one.out,
                            .in = one.in};
  const PackedLinear packed = pack(context, {&source, 1}, "a test");
  gpu::Stream stream(context);
  const DeviceTensor x = test::put(stream, one.x);
  const DeviceTensor y(stream, one.items, 1, one.tokens, one.out, "a test");
  linear(stream, kernels, x, packed, y, {.activation = one.activation});
  const gpu::Download bytes = stream.download(y.buffer());
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  return {test::take(y, submission.values<float>(bytes)), submission.dispatches()};
}

/// Every kernel on one case; returns the largest deviation.
test::Deviation check_all(Kernels& kernels, const LinearCase& one) {
  const std::vector<double> y = expected(one);
  test::Deviation worst;
  for (const LinearKernel kind : kKinds) {
    const Outcome outcome = run(kernels, one, kind);
    const test::Deviation deviation = test::deviation(outcome.y.values.values, y);
    INFO(to_string(kind), ", [", one.items, ", ", one.tokens, ", ", one.in, "] → ", one.out);
    CHECK(deviation.nmse < 1e-12);  // observed 2.5e-13
    CHECK(outcome.y.is_padding_zero);
    test::widen(worst, deviation);
  }
  return worst;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "linear: every kernel × awkward sizes × bias × ReLU") {
    constexpr std::array<std::uint32_t, 9> kRows{1, 2, 4, 5, 8, 9, 63, 64, 65};
    constexpr std::array<std::uint32_t, 10> kWidths{1, 3, 4, 5, 63, 64, 65, 127, 128, 129};
    test::Deviation worst;
    std::uint32_t seed = 0;
    // Every pair of (in, out) and every pair of (rows, in); the third size turns over meanwhile.
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

  TEST_CASE("linear: bindings larger than the device allows are split, by batch items and by tiles of the weight") {
    test::WatchedContext context({.max_storage_range = 65'536, .max_texel_elements = 4'096});
    Kernels kernels(context);
    const LinearCase one = make_case(5, 16, 64, 1000, 4);  // y takes 62.5 KiB an item, a tile of the weight 16 KiB
    check_all(kernels, one);
    for (const LinearKernel kind : kKinds) CHECK(run(kernels, one, kind).dispatches == 5 * 4);
  }

  TEST_CASE("linear: where texel buffers are too small, storage buffers serve") {
    test::WatchedContext context({.max_texel_elements = 64});
    Kernels kernels(context);
    check_all(kernels, make_case(2, 9, 64, 65, 8));
  }

  TEST_CASE("linear: one matrix larger than any binding is refused in one line") {
    test::WatchedContext context({.max_storage_range = 65'536});
    Kernels kernels(context);
    const LinearCase one = make_case(1, 300, 64, 64, 1);
    for (const LinearKernel kind : kKinds) {
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
