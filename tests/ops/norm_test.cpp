#include "ops/norm.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "ops/parameters.h"
#include "support/deviation.h"
#include "support/gpu.h"
#include "support/gpu_tensors.h"
#include "support/random.h"

namespace norm_test {

using namespace headlight;
using namespace headlight::ops;

namespace {

/// The computation: norm(x), norm(x + y) or y + norm(x).
enum class Adds : std::uint8_t { Nothing, Before, After };
constexpr std::array kAdds{Adds::Nothing, Adds::Before, Adds::After};

struct NormCase {
  Shape shape;  ///< [item, head, token, width]
  bool is_rms = false;
  Adds adds = Adds::Before;
  float offset = 0.0f;  ///< added to x
  std::optional<Rows> rows = {};
  std::optional<std::uint32_t> out_first = {};
  std::uint32_t out_tokens = 0;  ///< 0: as many as x
  bool is_in_place = false;
  float epsilon = 1e-5f;
  NormHeads heads = {};  ///< as many as the shape has, where they have weights of their own

  Rows computed() const { return rows.value_or(Rows{0, shape[2]}); }
  std::uint32_t result_tokens() const { return out_tokens == 0 ? shape[2] : out_tokens; }
};

struct Numbers {
  Tensor x, y, weight, bias;
};

Numbers make_numbers(const NormCase& one) {
  test::Random random(one.shape[3] + one.shape[2]);
  const std::uint32_t weights = one.heads.count * one.shape[3];
  Numbers numbers{random.tensor(one.shape), random.tensor(one.shape), random.tensor({weights}),
                  one.is_rms ? Tensor() : random.tensor({weights})};
  for (float& value : numbers.x.values) value += one.offset;
  return numbers;
}

constexpr float kMarker = 7.25f;  // value of rows that no kernel computes

/// One head of a row in double precision, two passes (torch.nn.LayerNorm, torch.nn.RMSNorm).
void append_row(const NormCase& one, const Numbers& numbers, std::size_t map, std::size_t token,
                std::vector<double>& result) {
  const std::size_t width = one.shape[3], heads = one.shape[1], tokens = one.shape[2], head = map % heads;
  const auto input = [&](std::size_t of_head, std::size_t i) {
    const std::size_t at = ((map - head + of_head) * tokens + token) * width + i;
    const double y = one.adds == Adds::Before ? static_cast<double>(numbers.y.values[at]) : 0.0;
    return static_cast<double>(numbers.x.values[at]) + y;
  };
  std::vector<double> row;  // what mean and variance are of
  for (std::size_t of_head = 0; of_head < heads; ++of_head) {
    for (std::size_t i = 0; i < width && (one.heads.spans || of_head == head); ++i) row.push_back(input(of_head, i));
  }
  double mean = 0.0, variance = 0.0;
  if (!one.is_rms) {
    for (const double value : row) mean += value / static_cast<double>(row.size());
  }
  for (const double value : row) variance += (value - mean) * (value - mean) / static_cast<double>(row.size());
  const std::size_t start = (map * tokens + token) * width, weights = one.heads.count == 1 ? 0 : head * width;
  for (std::size_t i = 0; i < width; ++i) {
    double value = (input(head, i) - mean) / std::sqrt(variance + static_cast<double>(one.epsilon)) *
                   static_cast<double>(numbers.weight.values[weights + i]);
    if (!one.is_rms) value += static_cast<double>(numbers.bias.values[weights + i]);
    if (one.adds == Adds::After) value += static_cast<double>(numbers.y.values[start + i]);
    result.push_back(value);
  }
}

/// [item, head, token of the result, width]; rows that no kernel computes hold the marker, or in place x's values.
std::vector<double> expected(const NormCase& one, const Numbers& numbers) {
  const Rows rows = one.computed();
  const std::uint32_t first = one.out_first.value_or(rows.first);
  std::vector<double> result;
  for (std::size_t map = 0; map < std::size_t{one.shape[0]} * one.shape[1]; ++map) {
    for (std::uint32_t token = 0; token < one.result_tokens(); ++token) {
      const bool is_computed = token >= first && token < first + rows.count;
      const std::size_t from = is_computed ? token - first + rows.first : token;
      const std::size_t start = (map * one.shape[2] + from) * one.shape[3];
      if (is_computed) {
        append_row(one, numbers, map, from, result);
      } else {
        for (std::size_t i = 0; i < one.shape[3]; ++i) {
          result.push_back(static_cast<double>(one.is_in_place ? numbers.x.values[start + i] : kMarker));
        }
      }
    }
  }
  return result;
}

/// Host: by functions of the program, where the device is a processor.
enum class Way : std::uint8_t { Storage, Texel, Wide, WideTexel, Host };
constexpr std::array kWays{Way::Storage, Way::Texel, Way::Wide, Way::WideTexel, Way::Host};

test::Deviation run(Kernels& kernels, const NormCase& one, const Numbers& numbers, Way way) {
  const bool texel = way == Way::Texel || way == Way::WideTexel;
  Tuning tuning{.texel_reads = texel};
  if (way == Way::Host) tuning.many_rows = LinearKernel::Host;
  kernels.set_tuning(tuning);
  const DeviceNorm weights =
      upload_norm(kernels.context(), numbers.weight.values, numbers.bias.values, one.epsilon, one.is_rms, one.heads);
  gpu::Stream stream(kernels.context());
  const DeviceTensor x = test::put(stream, numbers.x), y = test::put(stream, numbers.y);
  Tensor marked({one.shape[0], one.shape[1], one.result_tokens(), one.shape[3]});
  std::fill(marked.values.begin(), marked.values.end(), kMarker);
  const DeviceTensor other = test::put(stream, marked);
  const DeviceTensor& result = one.is_in_place ? x : other;
  const NormOptions options{
      .y = one.adds == Adds::Nothing ? nullptr : &y,
      .adds_after = one.adds == Adds::After,
      .rows = one.rows,
      .out_first = one.out_first,
      .is_wide = way == Way::Host ? std::nullopt : std::optional(way == Way::Wide || way == Way::WideTexel)};
  norm(stream, kernels, x, weights, result, options);
  const gpu::Download bytes = stream.download(result.buffer());
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  const test::Taken taken = test::take(result, submission.values<float>(bytes));
  CHECK(taken.is_padding_zero);
  return test::deviation(taken.values.values, expected(one, numbers));
}

/// Every kernel on one case; returns the largest deviation.
test::Deviation check(Kernels& kernels, const NormCase& one) {
  const Numbers numbers = make_numbers(one);
  test::Deviation worst;
  for (const Way way : kWays) {
    const test::Deviation deviation = run(kernels, one, numbers, way);
    INFO("way ", static_cast<int>(way), ", adds ", static_cast<int>(one.adds), one.is_rms ? ", RMS, [" : ", [", one.shape[0],
         ", ", one.shape[1], ", ", one.shape[2], ", ", one.shape[3], "]");
    CHECK(deviation.nmse < 1e-7);  // observed 3.0e-9, where x carries its own rounding; 1e-14 else
    test::widen(worst, deviation);
  }
  return worst;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "norm: every kernel × LayerNorm and RMSNorm × sums × awkward widths, rows and batches") {
    test::Deviation worst;
    for (const std::uint32_t width : {2u, 3u, 4u, 5u, 63u, 64u, 65u, 127u, 129u, 255u, 257u, 768u}) {
      for (const std::uint32_t tokens : {1u, 2u, 63u, 65u}) {
        for (const bool is_rms : {false, true}) {
          const Adds adds = kAdds[(width + tokens + (is_rms ? 1 : 0)) % 3];
          CAPTURE(width);
          CAPTURE(tokens);
          const test::Deviation deviation =
              check(test::shared_kernels(), {.shape = {tokens % 3 + 1, 1, tokens, width}, .is_rms = is_rms, .adds = adds});
          CHECK(deviation.nmse < 1e-12);  // observed 9.7e-15
          test::widen(worst, deviation);
        }
      }
    }
    CAPTURE(worst);
    CHECK(worst.max_abs < 5e-6);  // observed 9.5e-7
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "norm: some tokens of several heads, into other rows, with less or more capacity, in place") {
    test::Deviation worst;
    for (const bool is_rms : {false, true}) {
      for (const Adds adds : kAdds) {
        NormCase one{.shape = {2, 3, 9, 13}, .is_rms = is_rms, .adds = adds, .rows = Rows{4, 3}};
        test::widen(worst, check(test::shared_kernels(), one));
        one.out_first = 0;
        one.out_tokens = 3;
        test::widen(worst, check(test::shared_kernels(), one));
        one.out_first = 8;
        one.out_tokens = 70;
        test::widen(worst, check(test::shared_kernels(), one));
        one.out_first.reset();
        one.out_tokens = 0;
        one.is_in_place = true;
        test::widen(worst, check(test::shared_kernels(), one));
        one.rows.reset();
        test::widen(worst, check(test::shared_kernels(), one));
      }
    }
    CAPTURE(worst);
    CHECK(worst.max_abs < 5e-6);  // observed 3.0e-7
  }

  TEST_CASE_FIXTURE(test::OnGpu, "norm: heads with weights of their own, and rows that span all heads") {
    test::Deviation worst;
    for (const bool spans : {false, true}) {
      for (const bool is_rms : {false, true}) {
        for (const std::uint32_t width : {1u, 3u, 8u, 13u, 66u}) {
          for (const std::uint32_t heads : {2u, 3u, 20u}) {
            NormCase one{.shape = {2, heads, 9, width},
                         .is_rms = is_rms,
                         .adds = kAdds[(width + heads) % 3],
                         .rows = Rows{4, 3},
                         .heads = {heads, spans}};
            CAPTURE(spans);
            test::widen(worst, check(test::shared_kernels(), one));
            one.out_first = 8;
            one.out_tokens = 12;
            test::widen(worst, check(test::shared_kernels(), one));
            one.out_first.reset();
            one.out_tokens = 0;
            one.is_in_place = true;
            one.rows.reset();
            test::widen(worst, check(test::shared_kernels(), one));
          }
        }
      }
    }
    CAPTURE(worst);
    CHECK(worst.max_abs < 5e-6);  // observed 5.5e-7
  }

  TEST_CASE("norm: where the driver refuses a kernel, another one computes the same") {
    const NormCase one{.shape = {1, 1, 9, 300}};
    const Numbers numbers = make_numbers(one);
    for (const std::string_view refused : {".texel", "lanes=64", "lanes=8"}) {
      CAPTURE(refused);
      test::WatchedContext context(
          {.refuses = [=](std::string_view kernel) { return kernel.find(refused) != std::string_view::npos; }});
      Kernels kernels(context);
      for (const Way way : kWays) CHECK(run(kernels, one, numbers, way).nmse < 1e-11);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "norm: one column is its own mean: only the bias remains") {
    CHECK(check(test::shared_kernels(), {.shape = {2, 1, 3, 1}}).max_abs == 0.0);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "norm: the epsilon of RMSNorm matters for rows of tiny numbers") {
    NormCase one{.shape = {1, 1, 3, 8}, .is_rms = true, .adds = Adds::Nothing, .epsilon = 1e3f};
    CHECK(check(test::shared_kernels(), one).max_abs < 1e-8);  // observed 2.0e-9: the results are 0.03 and less
  }

  TEST_CASE_FIXTURE(test::OnGpu, "norm: a mean far from zero doesn't cancel the variance") {
    const test::Deviation deviation = check(test::shared_kernels(), {.shape = {1, 1, 5, 96}, .offset = 1000.0f});
    CAPTURE(deviation);
    CHECK(deviation.max_abs < 1e-3);  // observed 1.5e-4: x itself carries 6e-5; one pass over squares is off by 0.1 and more
  }

  TEST_CASE("norm: more rows of all heads than one axis of the grid takes") {
    test::WatchedContext context({.max_groups = 16});
    Kernels kernels(context);
    CHECK(check(kernels, {.shape = {3, 4, 50, 20}}).max_abs < 5e-6);                        // observed 3.2e-7
    CHECK(check(kernels, {.shape = {2, 3, 80, 20}, .rows = Rows{11, 69}}).max_abs < 5e-6);  // observed 4.1e-7
  }

  TEST_CASE("norm: slices of a device with small bindings") {
    test::WatchedContext context({.max_storage_range = 65'536});
    Kernels kernels(context);
    const NormCase one{.shape = {5, 1, 100, 80}};
    const Numbers numbers = make_numbers(one);
    for (const Way way : {Way::Storage, Way::Texel}) {
      CHECK(run(kernels, one, numbers, way).max_abs < 5e-6);  // observed 4.7e-7
    }
  }
}

}  // namespace norm_test
