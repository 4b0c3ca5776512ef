#include "ops/odd_numbers.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/gpu.h"
#include "support/random.h"

namespace odd_numbers_test {

using namespace headlight;
using namespace headlight::ops;

namespace {

/// The numbers that a part of the count reads, and the places of those that aren't finite.
struct Case {
  std::uint32_t rows = 0, stride = 1, first = 0, count = 1, period = 1, kept = 1;
};

/// Counts of two parts: the case, and two numbers of which the second is infinite.
std::vector<std::uint32_t> counts_of(gpu::Context& context, const Case& of, const std::vector<float>& values) {
  Kernels kernels(context);
  const auto put = [&](gpu::Stream& stream, const std::vector<float>& numbers) {
    gpu::Buffer buffer(context, numbers.size() * sizeof(float), gpu::Memory::Device, "a test's numbers");
    stream.upload(buffer, 0, std::span<const float>(numbers));
    return buffer;
  };
  gpu::Stream stream(context);
  const gpu::Buffer numbers = put(stream, values), other = put(stream, {1.0F, std::numeric_limits<float>::infinity()});
  gpu::Buffer counts(context, 2 * sizeof(std::uint32_t), gpu::Memory::Transient, "a test's counts");
  const std::vector<NumberRows> parts = {{.numbers = numbers,
                                          .rows = of.rows,
                                          .stride = of.stride,
                                          .first = of.first,
                                          .count = of.count,
                                          .period = of.period,
                                          .kept = of.kept},
                                         {.numbers = other, .rows = 2}};
  count_odd_numbers(stream, kernels, parts, counts);
  const gpu::Download download = stream.download(std::move(counts));
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  const std::span<const std::uint32_t> found = submission.values<std::uint32_t>(download);
  return {found.begin(), found.begin() + 2};
}

std::uint32_t expected_of(const Case& of, const std::vector<float>& values) {
  std::uint32_t odd = 0;
  for (std::uint32_t row = 0; row < of.rows; ++row) {
    for (std::uint32_t i = 0; row % of.period < of.kept && i < of.count; ++i) {
      odd += std::isfinite(values[std::size_t{row} * of.stride + of.first + i]) ? 0U : 1U;
    }
  }
  return odd;
}

void check_counts(gpu::Context& context) {
  test::Random random(17);
  const float odd[] = {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN(),
                       std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
  for (const std::uint32_t rows : {1U, 63U, 64U, 65U, 127U, 129U, 4'097U}) {
    for (const Case& of : {Case{.rows = rows}, Case{.rows = rows, .stride = 2, .first = 1, .period = 8, .kept = 5},
                           Case{.rows = rows, .stride = 12, .count = 10}}) {
      CAPTURE(rows);
      CAPTURE(of.stride);
      std::vector<float> values(std::size_t{rows} * of.stride, 3.4e38F);
      CHECK(counts_of(context, of, values) == std::vector<std::uint32_t>{0, 1});
      for (std::uint32_t i = 0; i < 40; ++i) values[random.below(static_cast<std::uint32_t>(values.size()))] = odd[i % 4];
      CHECK(counts_of(context, of, values) == std::vector<std::uint32_t>{expected_of(of, values), 1});
    }
  }
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "NaN and infinities are counted where they are looked at, and nowhere else") {
    check_counts(context);
  }

  TEST_CASE("the kernel counts them too, in as many dispatches as bindings take") {
    test::WatchedContext small({.max_storage_range = 16'384, .shaders_only = true});
    check_counts(small);
  }
}

}  // namespace odd_numbers_test
