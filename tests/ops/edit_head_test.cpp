#include "ops/edit_head.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "support/gpu_tensors.h"
#include "support/random.h"

namespace edit_head_test {

using namespace headlight;
using namespace headlight::ops;

namespace {

/// Numbers of the tensor that differ from the expected ones after both edits of one head: x · factor + vector. The expected
/// ones are rounded to float after each, as on the device.
std::size_t wrong_after_edits(Kernels& kernels, const Tensor& values,
                              const std::function<HeadSlot(const DeviceTensor&)>& slot_of, std::uint32_t width, float factor,
                              Rows rows) {
  test::Random random(width);
  const Tensor vector = random.tensor({width});
  gpu::Stream stream(kernels.context());
  const DeviceTensor tensor = test::put(stream, values);
  const HeadSlot slot = slot_of(tensor);
  std::vector<float> padded = vector.values;
  padded.resize(std::size_t{slot.width4} * 4);
  const gpu::Buffer added(kernels.context(), padded.size() * sizeof(float), gpu::Memory::Device, "a test");
  stream.upload(added, 0, std::span<const float>(padded));
  const std::size_t padded_row = padded.size();
  const Tensor each = random.tensor({rows.count, width});  // another vector for each token
  std::vector<float> padded_rows(rows.count * padded_row);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const auto from = each.values.begin() + static_cast<std::ptrdiff_t>(row * width);
    std::copy_n(from, width, padded_rows.begin() + static_cast<std::ptrdiff_t>(row * padded_row));
  }
  const gpu::Buffer added_rows(kernels.context(), padded_rows.size() * sizeof(float), gpu::Memory::Device, "a test");
  stream.upload(added_rows, 0, std::span<const float>(padded_rows));
  scale_head(stream, kernels, slot, factor, rows);
  add_to_head(stream, kernels, slot, added, rows);
  add_to_head(stream, kernels, slot, added_rows, rows, true);
  const gpu::Download bytes = stream.download(tensor.buffer());
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  const std::span<const float> found = submission.values<float>(bytes);
  CHECK(test::take(tensor, found).is_padding_zero);

  gpu::Stream again(kernels.context());
  const DeviceTensor unchanged = test::put(again, values);
  const gpu::Download original = again.download(unchanged.buffer());
  gpu::Submission done = std::move(again).submit();
  done.wait();
  const std::span<const float> before = done.values<float>(original);
  std::vector<float> expected(before.begin(), before.end());
  for (std::uint32_t item = 0; item < tensor.items; ++item) {
    for (std::uint32_t row = rows.first; row < rows.end(); ++row) {
      const std::size_t at = (std::size_t{item} * tensor.stride4() + slot.at4 + std::size_t{row} * slot.row4) * 4;
      for (std::size_t i = 0; i < width; ++i) {
        expected[at + i] *= factor;
        expected[at + i] += vector.values[i];
        expected[at + i] += each.values[(row - rows.first) * width + i];
      }
    }
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) wrong += found[i] == expected[i] ? 0u : 1u;
  return wrong;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu,
                    "scale_head, add_to_head: one head of the merged matrix, every row or some, both merge orders") {
    test::Random random(3);
    constexpr std::uint32_t kHeads = 3, kQueries = 11, kWidth4 = 5;
    const Tensor merged = random.tensor({2, 1, kQueries, kHeads * kWidth4 * 4});
    for (const MergedLayout& layout : {concatenated(kHeads, kWidth4), without_transpose(kQueries, kWidth4)}) {
      for (std::uint32_t head = 0; head < kHeads; ++head) {
        for (const float factor : {0.0f, -1.0f, 0.37f, 2.0f}) {
          for (const Rows rows : {Rows{0, kQueries}, Rows{7, 2}}) {
            CHECK(wrong_after_edits(
                      test::shared_kernels(), merged,
                      [&](const DeviceTensor& tensor) { return head_slot(tensor, layout, head, kWidth4); }, kWidth4 * 4,
                      factor, rows) == 0);
          }
        }
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "scale_head, add_to_head: one head of queries, keys or values, at every awkward width") {
    test::Random random(4);
    for (const std::uint32_t width : {1u, 3u, 4u, 63u, 64u, 65u, 127u, 128u, 129u}) {
      CAPTURE(width);
      const Tensor values = random.tensor({2, 3, 9, width});
      for (std::uint32_t head = 0; head < 3; ++head) {
        CHECK(wrong_after_edits(test::shared_kernels(), values,
                                [&](const DeviceTensor& tensor) { return head_slot(tensor, head); }, width, -0.75f,
                                {2, 6}) == 0);
      }
    }
  }

  TEST_CASE("scale_head, add_to_head: batch items that together exceed a binding are split") {
    test::WatchedContext context({.max_storage_range = 65'536});
    Kernels kernels(context);
    test::Random random(2);
    const Tensor merged = random.tensor({5, 1, 60, 128});
    CHECK(wrong_after_edits(kernels, merged,
                            [](const DeviceTensor& tensor) { return head_slot(tensor, concatenated(4, 8), 2, 8); }, 32, 0.5f,
                            {3, 47}) == 0);
  }

  TEST_CASE("scale_head, add_to_head: more columns than one axis of the grid takes") {
    test::WatchedContext context({.max_groups = 16});
    Kernels kernels(context);
    test::Random random(2);
    const Tensor merged = random.tensor({17, 1, 60, 256});
    CHECK(wrong_after_edits(kernels, merged,
                            [](const DeviceTensor& tensor) { return head_slot(tensor, concatenated(2, 32), 1, 32); }, 128,
                            0.5f, {3, 47}) == 0);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "average_head: real tokens of each item, at every awkward length and width") {
    Kernels kernels(context);
    for (const std::uint32_t tokens : {1U, 2U, 63U, 64U, 65U, 129U, 300U}) {
      for (const std::uint32_t width : {1U, 4U, 7U, 64U}) {
        CAPTURE(tokens);
        CAPTURE(width);
        constexpr std::uint32_t kItems = 3, kHeads = 2;
        test::Random random(tokens * 100 + width);
        const Tensor values = random.tensor({kItems, kHeads, tokens, width});
        // The whole item, all but the last token, and all but the first.
        const std::vector<std::uint32_t> ranges = {0, tokens, 0, std::max(tokens, 2U) - 1, tokens > 1 ? 1U : 0U, tokens};
        gpu::Stream stream(context);
        const DeviceTensor tensor = test::put(stream, values);
        const gpu::Buffer ends(context, ranges.size() * sizeof(std::uint32_t), gpu::Memory::Device, "a test");
        stream.upload(ends, 0, std::span<const std::uint32_t>(ranges));
        average_head(stream, kernels, head_slot(tensor, 1), ends);
        const gpu::Download bytes = stream.download(tensor.buffer());
        gpu::Submission submission = std::move(stream).submit();
        submission.wait();
        const test::Taken found = test::take(tensor, submission.values<float>(bytes));
        CHECK(found.is_padding_zero);
        std::size_t wrong = 0;
        for (std::uint32_t item = 0; item < kItems; ++item) {
          const std::uint32_t begin = ranges[item * 2], end = ranges[item * 2 + 1];
          for (std::uint32_t head = 0; head < kHeads; ++head) {
            for (std::uint32_t i = 0; i < width; ++i) {
              const auto at = [&](std::uint32_t token) {
                return ((std::size_t{item} * kHeads + head) * tokens + token) * width + i;
              };
              double mean = 0.0;
              for (std::uint32_t token = begin; token < end; ++token)
                mean += double{values.values[at(token)]} / (end - begin);
              for (std::uint32_t token = 0; token < tokens; ++token) {
                const bool is_averaged = head == 1 && token >= begin && token < end;
                const double right = is_averaged ? mean : double{values.values[at(token)]};
                wrong += std::abs(double{found.values.values[at(token)]} - right) <= 1e-6 ? 0U : 1U;
              }
            }
          }
        }
        CHECK(wrong == 0);
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "drop_from_head: numbers whose hash is below the threshold are 0, the others x · factor") {
    const auto fold = [](std::uint32_t h, std::uint32_t x) {  // as shaders/lib/dropout.glsl says
      h += 0x9e3779b9U * (x + 1);
      h = (h ^ h >> 16) * 0x7feb352dU;
      h = (h ^ h >> 15) * 0x846ca68bU;
      return h ^ h >> 16;
    };
    constexpr HeadDropout kDropout{.key = 77, .threshold = 0x60000000, .factor = 1.6f, .head = 2};
    constexpr std::uint32_t kItems = 2, kTokens = 5;
    for (const std::uint32_t width : {1U, 63U, 64U, 65U, 127U, 128U, 129U}) {
      CAPTURE(width);
      test::Random random(width);
      const Tensor values = random.tensor({kItems, 1, kTokens, width});
      gpu::Stream stream(test::shared_kernels().context());
      const DeviceTensor tensor = test::put(stream, values);
      drop_from_head(stream, test::shared_kernels(), head_slot(tensor, 0), kDropout, {.first = 1, .count = 3});
      const gpu::Download bytes = stream.download(tensor.buffer());
      gpu::Submission submission = std::move(stream).submit();
      submission.wait();
      const std::vector<float> found = test::take(tensor, submission.values<float>(bytes)).values.values;
      std::size_t wrong = 0, dropped = 0;
      for (std::uint32_t i = 0; i < values.values.size(); ++i) {
        const std::uint32_t token = i / width % kTokens;
        float expected = values.values[i];
        if (token >= 1 && token < 4) {
          const std::uint32_t key = fold(fold(fold(kDropout.key, i / width / kTokens), kDropout.head), token);
          const bool is_dropped = fold(key, i % width) < kDropout.threshold;
          expected = is_dropped ? 0.0f : expected * kDropout.factor;
          dropped += is_dropped ? 1U : 0U;
        }
        wrong += found[i] == expected ? 0U : 1U;
      }
      CHECK(wrong == 0);
      if (width > 1) CHECK(std::abs(static_cast<double>(dropped) / (kItems * 3.0 * width) - 0.375) < 0.1);  // observed 0.04
    }
  }
}

}  // namespace edit_head_test
