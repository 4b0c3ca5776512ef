#include "gpu/buffer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "gpu/stream.h"
#include "gpu/transfer.h"
#include "support/error_message.h"
#include "support/gpu.h"
#include "support/skip.h"

namespace buffer_test {

using namespace headlight;
using namespace headlight::gpu;
using test::error_message;

namespace {

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

std::vector<float> download(Context& context, const Slice& slice) {
  Stream stream(context);
  const Download bytes = stream.download(slice);
  Submission submission = std::move(stream).submit();
  submission.wait();
  const auto values = submission.values<float>(bytes);
  return {values.begin(), values.end()};
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "a download returns what was uploaded, at any size") {
    for (const std::size_t count : {1u, 3u, 63u, 64u, 65u, 4097u, 1u << 20}) {
      CAPTURE(count);
      const std::vector<float> values = counting(count);
      const Buffer buffer(context, count * sizeof(float), Memory::Device, "a test");
      Stream stream(context);
      stream.upload(buffer, 0, std::span<const float>(values));
      const Download bytes = stream.download(buffer);
      Submission submission = std::move(stream).submit();
      submission.wait();
      CHECK(submission.is_ready());
      const auto back = submission.values<float>(bytes);
      CHECK(std::equal(back.begin(), back.end(), values.begin(), values.end()));
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a range is written and read at its offset, the rest stays zero") {
    const Buffer buffer(context, 512 * sizeof(float), Memory::Device, "a test");
    const std::vector<float> values = counting(10);
    Stream stream(context);
    stream.clear(buffer);
    stream.upload(buffer, 256 * sizeof(float), std::span<const float>(values));
    std::move(stream).submit().wait();
    const std::vector<float> all = download(context, buffer);
    CHECK(std::all_of(all.begin(), all.begin() + 256, [](float value) { return value == 0.0f; }));
    CHECK(std::equal(values.begin(), values.end(), all.begin() + 256));
    CHECK(std::all_of(all.begin() + 266, all.end(), [](float value) { return value == 0.0f; }));
    CHECK(download(context, {buffer, 256 * sizeof(float), 10 * sizeof(float)}) == values);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "an upload copies its values immediately") {
    std::vector<float> values = counting(4);
    const Buffer buffer(context, 16, Memory::Device, "a test");
    Stream stream(context);
    stream.upload(buffer, 0, std::span<const float>(values));
    values.assign(4, -1.0f);
    std::move(stream).submit().wait();
    CHECK(download(context, buffer) == counting(4));
  }

  TEST_CASE_FIXTURE(test::OnGpu, "write() writes weights to their place, also at an offset") {
    const Buffer buffer(context, 64, Memory::Device, "a test");
    Stream stream(context);
    stream.clear(buffer);
    std::move(stream).submit().wait();
    write(context, buffer, 16, std::span<const float>(counting(4)));
    CHECK(download(context, {buffer, 16, 16}) == counting(4));
    CHECK(download(context, {buffer, 32, 32}) == std::vector<float>(8, 0.0f));
  }

  TEST_CASE_FIXTURE(test::OnGpu, "memory is counted while a buffer exists, also after moves") {
    const std::size_t before = context.allocated_bytes();
    {
      Buffer buffer(context, 1000, Memory::Device, "a test");
      CHECK(context.allocated_bytes() == before + 1000);
      Buffer moved = std::move(buffer);
      CHECK(context.allocated_bytes() == before + 1000);
      CHECK(moved.size() == 1000);
      moved = Buffer(context, 500, Memory::Device, "a test");
      CHECK(context.allocated_bytes() == before + 500);
    }
    CHECK(context.allocated_bytes() == before);
    CHECK(Buffer(context, 0, Memory::Device, "nothing").is_empty());
  }

  TEST_CASE_FIXTURE(test::OnGpu, "host-visible memory is written and read back") {
    const Buffer upload(context, 64, Memory::Upload, "a test");
    const Buffer readback(context, 64, Memory::Readback, "a test");
    CHECK(upload.mapped().size() == 64);
    CHECK(readback.mapped().size() == 64);
  }

  TEST_CASE("a buffer given away is read where it is, or copied where the host can't reach it") {
    const std::vector<float> values = counting(1000);
    for (const bool is_private : {false, true}) {
      test::WatchedContext context({.has_private_memory = is_private});
      Buffer buffer(context, values.size() * sizeof(float), Memory::Transient, "a test");
      const bool is_copied = !buffer.is_host_cached();
      CHECK((is_private ? is_copied : true));
      Stream stream(context);
      stream.upload(buffer, 0, std::span<const float>(values));
      const std::size_t before = context->allocated_bytes();
      const Download bytes = stream.download(std::move(buffer));
      CHECK(context->allocated_bytes() - before == (is_copied ? values.size() * sizeof(float) : 0));
      Submission submission = std::move(stream).submit();
      submission.wait();
      const std::span<const float> read = submission.values<float>(bytes);
      CHECK(std::vector<float>(read.begin(), read.end()) == values);
    }
  }

  TEST_CASE("a buffer too large for a small device is refused with the needed and the available bytes") {
    test::WatchedContext small({.memory_bytes = std::size_t{4} << 20});
    const Buffer half(small, std::size_t{3} << 20, Memory::Device, "the weights");
    const std::string message = error_message([&] { Buffer(small, std::size_t{2} << 20, Memory::Device, "the queries"); });
    CHECK(message ==
          "the device '" + small->device().name +
              "' can't hold the queries: 2.0 MiB needed, 4.0 MiB there are (3.0 MiB in use); make the text or the "
              "model smaller");
    CHECK(small->allocated_bytes() == std::size_t{3} << 20);
    CHECK(error_message([&] { Buffer(small, std::size_t{1} << 20, Memory::Device, "the queries"); }).empty());
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a buffer larger than one allocation may be is refused before allocating") {
    const std::size_t bytes = context.device().max_allocation;
    if (bytes == 0) return test::skip("the device names no largest allocation");
    const std::string message = error_message([&] { Buffer(context, bytes + 1, Memory::Device, "the logits"); });
    CHECK(test::is_one_line(message));
    CHECK(message.find("can't hold the logits") != std::string::npos);
  }

  TEST_CASE("weights for device-only memory are uploaded in few submissions, before later ones") {
    test::WatchedContext discrete({.has_private_memory = true});
    constexpr std::size_t kCount = std::size_t{3} << 20;  // 12 MiB each: three fill more than two staging buffers
    std::vector<Buffer> buffers;
    const std::vector<float> values = counting(kCount);
    const std::uint64_t before = discrete->submissions();
    for (int i = 0; i < 3; ++i) {
      const Buffer& buffer = buffers.emplace_back(discrete, kCount * sizeof(float), Memory::Device, "a test");
      CHECK(buffer.mapped().empty());
      for (std::size_t at = 0; at < kCount; at += kCount / 64) {  // as norms and biases: many small ones
        write(discrete, buffer, at * sizeof(float), std::span(values).subspan(at, kCount / 64));
      }
    }
    for (const Buffer& buffer : buffers) CHECK(download(discrete, buffer) == values);
    CHECK(discrete->submissions() - before <= 3 + 3);  // 36 MiB through 16 at a time, and three downloads
    finish_writes(discrete);
    std::size_t held = 0;
    for (const Buffer& buffer : buffers) held += buffer.size();
    CHECK(discrete->allocated_bytes() == held);  // no staging buffer is left
  }

  TEST_CASE("a buffer may be destroyed while an upload to it is pending") {
    test::WatchedContext discrete({.has_private_memory = true});
    const Buffer kept(discrete, 64, Memory::Device, "a test");
    {
      const Buffer gone(discrete, 64, Memory::Device, "a test");
      write(discrete, kept, 0, std::span<const float>(counting(16)));
      write(discrete, gone, 0, std::span<const float>(counting(16)));
    }
    CHECK(download(discrete, kept) == counting(16));
  }
}

}  // namespace buffer_test
