#include "ops/rotate.h"

#include <doctest/doctest.h>

#include <cmath>

#include "support/deviation.h"
#include "support/gpu_tensors.h"
#include "support/random.h"

namespace rotate_test {

using namespace headlight;
using namespace headlight::ops;

namespace {

struct RotateCase {
  Shape shape;  ///< [item, head, token, d_k]
  std::uint32_t pairs = 1;
  bool is_interleaved = false;
  std::uint32_t tokens = 1;  ///< of the text; the capacity may be larger
  Rows rows;
};

constexpr std::uint32_t kPositions = 40;

/// Rotated in double precision (Su et al. 2021): (a, b) becomes (a·cos − b·sin, b·cos + a·sin).
std::vector<double> expected(const RotateCase& one, const Tensor& x, const Tensor& angles,
                             const std::vector<std::uint32_t>& positions) {
  std::vector<double> result(x.values.begin(), x.values.end());
  const std::uint32_t heads = one.shape[1], capacity = one.shape[2], width = one.shape[3];
  for (std::uint32_t map = 0; map < one.shape[0] * heads; ++map) {
    for (std::uint32_t token = one.rows.first; token < one.rows.end(); ++token) {
      const std::uint32_t position = positions[map / heads * one.tokens + token];
      double* row = result.data() + (std::size_t{map} * capacity + token) * width;
      for (std::uint32_t pair = 0; pair < one.pairs; ++pair) {
        const auto cosine = static_cast<double>(angles.at({position, pair, 0}));
        const auto sine = static_cast<double>(angles.at({position, pair, 1}));
        double& a = row[one.is_interleaved ? 2 * pair : pair];
        double& b = row[one.is_interleaved ? 2 * pair + 1 : pair + one.pairs];
        const double was = a;
        a = was * cosine - b * sine;
        b = b * cosine + was * sine;
      }
    }
  }
  return result;
}

test::Deviation check_by(Kernels& kernels, LinearKernel linear, const RotateCase& one, std::uint32_t seed) {
  kernels.set_tuning({.many_rows = linear});
  test::Random random(seed);
  const Tensor x = random.tensor(one.shape);
  Tensor angles({kPositions, one.pairs, 2});
  for (std::size_t i = 0; i < angles.values.size(); i += 2) {
    const float angle = random.number(3.0f);
    angles.values[i] = std::cos(angle);
    angles.values[i + 1] = std::sin(angle);
  }
  std::vector<std::uint32_t> positions;
  for (std::uint32_t i = 0; i < one.shape[0] * one.tokens; ++i) positions.push_back(random.below(kPositions));
  gpu::Context& context = kernels.context();
  const gpu::Buffer angle_buffer(context, angles.values.size() * sizeof(float), gpu::Memory::Device, "a test");
  const gpu::Buffer position_buffer(context, positions.size() * sizeof(std::uint32_t), gpu::Memory::Device, "a test");
  gpu::Stream stream(context);
  stream.upload(angle_buffer, 0, std::span<const float>(angles.values));
  stream.upload(position_buffer, 0, std::span<const std::uint32_t>(positions));
  const DeviceTensor tensor = test::put(stream, x);
  rotate(stream, kernels, tensor,
         {.angles = angle_buffer,
          .positions = position_buffer,
          .tokens = one.tokens,
          .pairs = one.pairs,
          .is_interleaved = one.is_interleaved},
         one.rows);
  const gpu::Download bytes = stream.download(tensor.buffer());
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  const test::Taken taken = test::take(tensor, submission.values<float>(bytes));
  CHECK(taken.is_padding_zero);
  return test::deviation(taken.values.values, expected(one, x, angles, positions));
}

/// Checks the kernel and, where the device is a processor, the program's own functions.
test::Deviation check(Kernels& kernels, const RotateCase& one, std::uint32_t seed) {
  test::Deviation worst = check_by(kernels, LinearKernel::Vec4, one, seed);
  test::widen(worst, check_by(kernels, LinearKernel::Host, one, seed));
  return worst;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu,
                    "rotate: half-split and interleaved pairs, whole and partial heads, positions, parts, batches") {
    test::Deviation worst;
    std::uint32_t seed = 0;
    for (const bool is_interleaved : {false, true}) {
      for (const auto& sizes : {std::pair{2u, 1u}, {6u, 3u}, {6u, 1u}, {15u, 4u}, {64u, 32u}, {80u, 20u}, {129u, 64u}}) {
        const auto& d_k = sizes.first;
        const auto& pairs = sizes.second;
        for (const auto& [capacity, tokens, rows] :
             {std::tuple{9u, 9u, Rows{0, 9}}, {64u, 17u, Rows{16, 1}}, {64u, 33u, Rows{5, 28}}, {1u, 1u, Rows{0, 1}}}) {
          CAPTURE(d_k);
          CAPTURE(pairs);
          test::widen(worst, check(test::shared_kernels(),
                                   {.shape = {seed % 3 + 1, seed % 4 + 1, capacity, d_k},
                                    .pairs = pairs,
                                    .is_interleaved = is_interleaved,
                                    .tokens = tokens,
                                    .rows = rows},
                                   seed));
          ++seed;
        }
      }
    }
    CAPTURE(worst);
    CHECK(worst.max_abs < 5e-7);  // observed 1.2e-7
  }

  TEST_CASE("rotate: batch items that together exceed a binding are split, each with its own positions") {
    test::WatchedContext context({.max_storage_range = 65'536});
    Kernels kernels(context);
    const RotateCase one{.shape = {5, 2, 60, 64}, .pairs = 16, .is_interleaved = false, .tokens = 50, .rows = {3, 47}};
    CHECK(check(kernels, one, 1).max_abs < 5e-7);  // observed 1.0e-7
  }

  TEST_CASE("rotate: more pairs than one axis of the grid takes") {
    test::WatchedContext context({.max_groups = 16});
    Kernels kernels(context);
    const RotateCase one{.shape = {9, 2, 60, 64}, .pairs = 32, .is_interleaved = true, .tokens = 50, .rows = {3, 47}};
    CHECK(check(kernels, one, 1).max_abs < 5e-7);  // observed 1.2e-7
  }
}

}  // namespace rotate_test
