// The origin of buffers' memory: blocks that they share, and buffers that are used again.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "gpu/buffer.h"
#include "gpu/context.h"
#include "gpu/stream.h"
#include "support/gpu.h"
#include "support/random.h"

namespace memory_test {

using namespace headlight;
using namespace headlight::gpu;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// The bytes that the device has for a buffer.
std::vector<std::byte> read(Context& context, const Buffer& buffer) {
  Stream stream(context);
  const Download download = stream.download(buffer);
  Submission submission = std::move(stream).submit();
  submission.wait();
  const std::span<const std::byte> bytes = submission.bytes(download);
  return {bytes.begin(), bytes.end()};
}

void fill(Context& context, const Buffer& buffer, std::byte value) {
  Stream stream(context);
  const std::vector<std::byte> bytes(buffer.size(), value);
  stream.upload(buffer, 0, std::span<const std::byte>(bytes));
  std::move(stream).submit().wait();
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("small buffers share blocks of memory, and never a byte") {
    test::WatchedContext context(ContextOptions{});
    test::Random random(1);
    struct Held {
      Buffer buffer;
      std::byte value;
    };
    std::deque<Held> held;
    const MemoryCalls before = context->memory_calls();
    for (int step = 0; step < 400; ++step) {
      if (held.size() > 40 || (!held.empty() && random.chance(0.4))) {
        held.erase(held.begin() + random.below(static_cast<std::uint32_t>(held.size())));
        continue;
      }
      const std::size_t bytes = 4 * random.between(1, random.chance(0.1) ? 300'000 : 3'000);
      held.push_back({Buffer(context, bytes, random.pick({Memory::Device, Memory::Transient}), "a test"),
                      static_cast<std::byte>(random.below(256))});
      fill(context, held.back().buffer, held.back().value);
    }
    for (const Held& one : held) {
      const std::vector<std::byte> bytes = read(context, one.buffer);
      CHECK(std::ranges::all_of(bytes, [&](std::byte byte) { return byte == one.value; }));
    }
    const MemoryCalls calls = context->memory_calls();
    CHECK(calls.allocations - before.allocations <= 9);  // three uses of memory, and few blocks of each
    CHECK(held.size() > 10);
  }

  TEST_CASE("thousands of buffers, more than a driver needs to allow allocations, take a few blocks") {
    test::WatchedContext context(ContextOptions{});
    std::vector<Buffer> buffers;
    for (int i = 0; i < 5'000; ++i) buffers.emplace_back(context, 1'000, Memory::Device, "a test");
    CHECK(context->memory_calls().allocations < 10);
    CHECK(context->allocated_bytes() == 5'000 * 1'000);
    buffers.clear();
    CHECK(context->allocated_bytes() == 0);
  }

  TEST_CASE("what is made and freed again and again costs no call of the driver") {
    test::WatchedContext context(ContextOptions{});
    const auto work = [&](std::size_t tokens) {
      const Buffer cells(context, tokens * tokens * 8, Memory::Transient, "a test");
      const Buffer state(context, 64 * 768 * 4, Memory::Device, "a test");
      Stream stream(context);
      const std::vector<float> numbers(tokens * 16, 1.0F);
      stream.upload(cells, 0, std::span<const float>(numbers));
      stream.clear(state);
      stream.download(cells);
      std::move(stream).submit().wait();
    };
    work(100);
    const MemoryCalls before = context->memory_calls();
    for (std::size_t tokens = 97; tokens < 102; ++tokens) work(tokens);  // sizes of the same step
    CHECK(context->memory_calls() == before);
  }

  TEST_CASE("large buffers have memory of their own, which goes with them") {
    test::WatchedContext context(ContextOptions{});
    const MemoryCalls before = context->memory_calls();
    {
      const Buffer one(context, 100 * kMiB, Memory::Device, "a test"), other(context, 100 * kMiB, Memory::Device, "a test");
      CHECK(context->memory_calls().allocations == before.allocations + 2);
    }
    const Buffer again(context, 100 * kMiB, Memory::Device, "a test");
    CHECK(context->memory_calls().allocations == before.allocations + 3);  // neither waited
  }

  TEST_CASE("what waits gives its memory to buffers of other sizes before the driver is asked for more") {
    test::WatchedContext context(ContextOptions{});
    const auto make = [&](int count, std::size_t bytes) {
      std::vector<Buffer> buffers;
      for (int i = 0; i < count; ++i) buffers.emplace_back(context, bytes, Memory::Device, "a test");
      return buffers;
    };
    const auto calls = [&] { return context->memory_calls(); };
    SUBCASE("that share blocks") {
      make(20, 3 * kMiB);  // 60 MiB wait
      const std::uint64_t before = calls().allocations;
      const std::vector<Buffer> longer = make(9, 7 * kMiB / 2);
      CHECK(calls().allocations == before);  // 31 MiB in the ranges of those that waited
    }
    SUBCASE("that have memory of their own") {
      make(4, 14 * kMiB);  // 56 MiB wait
      const std::vector<Buffer> longer = make(3, 15 * kMiB);
      const std::uint64_t before = calls().allocations;
      const std::vector<Buffer> again = make(4, 14 * kMiB);
      CHECK(calls().allocations == before + 4);
    }
    SUBCASE("but the last 4 MiB go on waiting") {
      make(7, 9 * kMiB);
      make(3, kMiB);
      const Buffer large(context, 100 * kMiB, Memory::Device, "a test");
      const MemoryCalls before = calls();
      make(3, kMiB);
      CHECK(calls() == before);
    }
  }

  TEST_CASE("what no buffer needs goes back to the driver when nothing is computed any more") {
    test::WatchedContext context(ContextOptions{});
    const auto make = [&](int count, std::size_t bytes) {
      std::vector<Buffer> buffers;
      for (int i = 0; i < count; ++i) buffers.emplace_back(context, bytes, Memory::Device, "a test");
      return buffers;
    };
    const Buffer kept(context, 1'000, Memory::Device, "a test");
    fill(context, kept, std::byte{5});
    const std::size_t before = context->reserved_bytes();
    make(20, 3 * kMiB);  // 60 MiB wait, in blocks
    make(2, 14 * kMiB);  // … and some of them with memory of their own
    CHECK(context->reserved_bytes() > before + 28 * kMiB);
    context->give_back_unused_memory();
    // On an H100 a block had been reserved before that nothing needed.
    CHECK((context->device().is_cpu ? context->reserved_bytes() == before : context->reserved_bytes() <= before));
    CHECK(context->allocated_bytes() >= kept.size());
    CHECK(read(context, kept) == std::vector<std::byte>(1'000, std::byte{5}));
    CHECK(make(20, 3 * kMiB).size() == 20);  // it goes on as before
  }

  TEST_CASE("buffers move, and an empty one is nothing") {
    test::WatchedContext context(ContextOptions{});
    Buffer empty(context, 0, Memory::Device, "a test");
    CHECK(empty.is_empty());
    Buffer one(context, 256, Memory::Device, "a test");
    fill(context, one, std::byte{7});
    empty = std::move(one);
    CHECK(read(context, empty) == std::vector<std::byte>(256, std::byte{7}));
    CHECK(context->allocated_bytes() == 256);
    empty = Buffer();
    CHECK(context->allocated_bytes() == 0);
  }
}

}  // namespace memory_test
