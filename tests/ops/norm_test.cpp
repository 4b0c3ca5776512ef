#include "ops/norm.h"

#include <doctest/doctest.h>

#include "support/deviation.h"
#include "support/gpu_tensors.h"
#include "support/random.h"

using namespace headlight;
using namespace headlight::ops;

namespace {

/// LayerNorm(x + y) · weight + bias in double precision, two passes.
std::vector<double> expected(const Tensor& x, const Tensor& y, const Tensor& weight, const Tensor& bias, double epsilon) {
  const std::size_t width = weight.values.size();
  std::vector<double> result;
  for (std::size_t start = 0; start < x.values.size(); start += width) {
    std::vector<double> sum(width);
    double mean = 0.0, variance = 0.0;
    for (std::size_t i = 0; i < width; ++i) {
      sum[i] = static_cast<double>(x.values[start + i]) + static_cast<double>(y.values[start + i]);
    }
    for (const double value : sum) mean += value / static_cast<double>(width);
    for (const double value : sum) variance += (value - mean) * (value - mean) / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i) {
      result.push_back((sum[i] - mean) / std::sqrt(variance + epsilon) * static_cast<double>(weight.values[i]) +
                       static_cast<double>(bias.values[i]));
    }
  }
  return result;
}

test::Deviation check(Kernels& kernels, Shape shape, float offset) {
  test::Random random(shape[3] + shape[2]);
  Tensor x = random.tensor(shape);
  for (float& value : x.values) value += offset;
  const Tensor y = random.tensor(shape), weight = random.tensor({shape[3]}), bias = random.tensor({shape[3]});
  constexpr float kEpsilon = 1e-5f;
  const DeviceNorm weights = upload_norm(kernels.context(), weight.values, bias.values, kEpsilon);
  gpu::Stream stream(kernels.context());
  const DeviceTensor x_device = test::put(stream, x), y_device = test::put(stream, y);
  const DeviceTensor result(stream, shape[0], 1, shape[2], shape[3], "a test");
  norm(stream, kernels, x_device, weights, result, {.y = &y_device});
  const gpu::Download bytes = stream.download(result.buffer());
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  const test::Taken taken = test::take(result, submission.values<float>(bytes));
  CHECK(taken.is_padding_zero);
  return test::deviation(taken.values.values, expected(x, y, weight, bias, static_cast<double>(kEpsilon)));
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "norm of a sum: awkward widths, rows and batches") {
    test::Deviation worst;
    for (const std::uint32_t width : {2u, 3u, 4u, 5u, 63u, 64u, 65u, 127u, 129u, 768u}) {
      for (const std::uint32_t tokens : {1u, 2u, 63u, 65u}) {
        CAPTURE(width);
        CAPTURE(tokens);
        const test::Deviation deviation = check(test::shared_kernels(), {tokens % 3 + 1, 1, tokens, width}, 0.0f);
        CHECK(deviation.nmse < 1e-12);  // observed 1.0e-14
        test::widen(worst, deviation);
      }
    }
    CAPTURE(worst);
    CHECK(worst.max_abs < 5e-6);  // observed 9.4e-7
  }

  TEST_CASE_FIXTURE(test::OnGpu, "norm of a sum: one column is its own mean: the bias is left") {
    CHECK(check(test::shared_kernels(), {2, 1, 3, 1}, 0.0f).max_abs == 0.0);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "norm of a sum: a mean far from zero doesn't cancel the variance") {
    const test::Deviation deviation = check(test::shared_kernels(), {1, 1, 5, 96}, 1000.0f);
    CAPTURE(deviation);
    CHECK(deviation.max_abs < 1e-3);  // observed 1.5e-4: x itself carries 6e-5; one pass over squares is off by 0.1 and more
  }

  TEST_CASE("norm of a sum: slices of a device with small bindings") {
    test::WatchedContext context({.max_storage_range = 65'536});
    Kernels kernels(context);
    CHECK(check(kernels, {5, 1, 100, 80}, 0.0f).max_abs < 5e-6);  // observed 4.7e-7
  }
}
