// Rows replaced, copied and added, against plain loops.
#include <doctest/doctest.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "ops/edit_head.h"
#include "support/gpu_tensors.h"
#include "support/random.h"

namespace edit_rows_test {

using namespace headlight;
using namespace headlight::ops;

namespace {

constexpr std::uint32_t kItems = 3, kTokens = 9;
constexpr Rows kRows{.first = 2, .count = 5};

/// Returns a tensor's numbers after `edit`, which gets the others, too: they live until the device is done.
Tensor after(gpu::Context& context, const Tensor& values, const std::vector<Tensor>& others,
             const std::function<void(gpu::Stream&, const DeviceTensor&, const std::vector<DeviceTensor>&)>& edit) {
  gpu::Stream stream(context);
  std::vector<DeviceTensor> of_others;
  for (const Tensor& other : others) of_others.push_back(test::put(stream, other));
  const DeviceTensor tensor = test::put(stream, values);
  edit(stream, tensor, of_others);
  const gpu::Download bytes = stream.download(tensor.buffer());
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  const test::Taken found = test::take(tensor, submission.values<float>(bytes));
  CHECK(found.is_padding_zero);
  return found.values;
}

bool is_inside(std::uint32_t token) { return token >= kRows.first && token < kRows.end(); }

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "replace_in_head: one head of one item, some rows, at every awkward width") {
    Kernels kernels(context);
    for (const std::uint32_t width : {1U, 4U, 7U, 64U, 65U, 129U}) {
      CAPTURE(width);
      test::Random random(width);
      constexpr std::uint32_t kHeads = 3;
      const Tensor values = random.tensor({kItems, kHeads, kTokens, width}), rows = random.tensor({kRows.count, width});
      const std::size_t stride = std::size_t{divide_up(width, 4)} * 4;
      std::vector<float> padded(stride * kRows.count);
      for (std::uint32_t row = 0; row < kRows.count; ++row) {
        for (std::uint32_t i = 0; i < width; ++i) padded[row * stride + i] = rows.values[std::size_t{row} * width + i];
      }
      const gpu::Buffer given(context, padded.size() * sizeof(float), gpu::Memory::Device, "a test");
      const Tensor found = after(context, values, {}, [&](gpu::Stream& stream, const DeviceTensor& tensor, const auto&) {
        stream.upload(given, 0, std::span<const float>(padded));
        replace_in_head(stream, kernels, head_slot(tensor, 1), 2, given, kRows);
      });
      Tensor expected = values;
      for (std::uint32_t row = 0; row < kRows.count; ++row) {
        for (std::uint32_t i = 0; i < width; ++i) {
          expected.at({2, 1, kRows.first + row, i}) = rows.values[std::size_t{row} * width + i];
        }
      }
      CHECK(found.values == expected.values);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "copy_rows, add_rows: some rows of every item, the others stay") {
    Kernels kernels(context);
    for (const std::uint32_t width : {1U, 7U, 64U, 130U}) {
      CAPTURE(width);
      test::Random random(width);
      const Tensor values = random.tensor({kItems, 1, kTokens, width}), x = random.tensor({kItems, 1, kTokens, width}),
                   y = random.tensor({kItems, 1, kTokens, width});
      const Tensor copied =
          after(context, values, {x}, [&](gpu::Stream& stream, const DeviceTensor& tensor, const auto& others) {
            copy_rows(stream, kernels, others[0], tensor, kRows);
          });
      const Tensor added =
          after(context, values, {x, y}, [&](gpu::Stream& stream, const DeviceTensor& tensor, const auto& others) {
            add_rows(stream, kernels, others[0], others[1], tensor, kRows);
          });
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < values.values.size(); ++i) {
        const bool is_edited = is_inside(static_cast<std::uint32_t>(i / width) % kTokens);
        wrong += copied.values[i] == (is_edited ? x : values).values[i] ? 0U : 1U;
        wrong += added.values[i] == (is_edited ? x.values[i] + y.values[i] : values.values[i]) ? 0U : 1U;
      }
      CHECK(wrong == 0);
    }
  }
}

}  // namespace edit_rows_test
