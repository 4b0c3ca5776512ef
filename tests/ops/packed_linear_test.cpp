// Weights on the device: whichever way they are stored, the packed numbers are the same.
#include <doctest/doctest.h>

#include <atomic>
#include <vector>

#include "gpu/stream.h"
#include "ops/packed_linear.h"
#include "support/gpu.h"
#include "support/random.h"

namespace packed_linear_test {

using namespace headlight;
using namespace headlight::ops;

namespace {

struct Shape {
  std::uint32_t out = 1, in = 1;
};

std::vector<std::uint32_t> packed_bits(gpu::Context& context, LinearSource source, WeightType type) {
  source.type = type;
  const PackedLinear packed = pack(context, {&source, 1}, "a test");
  gpu::Stream stream(context);
  const gpu::Download bytes = stream.download(packed.weight);
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  const auto bits = submission.values<std::uint32_t>(bytes);
  return {bits.begin(), bits.end()};
}

/// Are both layouts of a random weight packed into the same bits?
void check_layouts(gpu::Context& context, const Shape& shape) {
  test::Random random(17);
  const Tensor weight = random.tensor({shape.out, shape.in});
  const LinearSource rows{.weight = weight.values, .out = shape.out, .in = shape.in};
  LinearSource columns = rows;
  std::atomic<std::uint64_t> read = 0;
  columns.read_inputs = [&](const WeightPart& part, std::vector<float>& room) {
    read += std::uint64_t{part.ins} * part.outs;
    const std::size_t stride = part.outs + 3;
    room.resize(part.ins * stride);
    for (std::uint32_t i = 0; i < part.ins; ++i) {
      for (std::uint32_t o = 0; o < part.outs; ++o) {
        room[i * stride + o] = weight.values[std::size_t{part.first_out + o} * shape.in + part.first_in + i];
      }
    }
    return WeightPanel{room.data(), stride};
  };
  std::atomic<std::uint64_t> seen = 0;
  columns.see_inputs = [&](const WeightPanel&, std::uint32_t outs, std::uint32_t ins) { seen += std::uint64_t{ins} * outs; };
  for (const WeightType type : {WeightType::F32, WeightType::F16, WeightType::BF16}) {
    CAPTURE(shape.out);
    CAPTURE(shape.in);
    CAPTURE(static_cast<int>(type));
    read = seen = 0;
    CHECK(packed_bits(context, rows, type) == packed_bits(context, columns, type));
    CHECK(read == std::uint64_t{shape.out} * shape.in);
    CHECK(seen == read);
  }
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("a weight stored as [in, out] is packed into the same bits as its transpose") {
    // The last two take several panels of inputs, some on every thread.
    for (const Shape& shape : {Shape{1, 1}, {3, 4}, {64, 7}, {65, 8}, {130, 33}, {200, 64}, {1'000, 301}, {3'072, 768}}) {
      check_layouts(test::shared_context(), shape);
    }
  }

  TEST_CASE("where the host doesn't reach the device's memory, a weight is packed in pieces") {
    test::WatchedContext context({.has_private_memory = true});
    check_layouts(context, {.out = 5'000, .in = 1'001});  // 20 MB, more than one piece
  }
}

}  // namespace packed_linear_test
