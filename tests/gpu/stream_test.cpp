#include "gpu/stream.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include <fmt/ranges.h>

#include "gpu/test_kernel.h"
#include "support/gpu.h"
#include "support/skip.h"

namespace stream_test {

using namespace headlight;
using namespace headlight::gpu;
using test::AffineParameters;

namespace {

constexpr std::uint32_t kCount = 100'000;
constexpr Groups kGroups{(kCount + 63) / 64, 1, 1};

Buffer make_buffer(Context& context) { return {context, kCount * sizeof(float), Memory::Device, "a test"}; }

bool all_equal(std::span<const float> values, float expected) {
  return values.size() == kCount &&
         std::all_of(values.begin(), values.end(), [&](float value) { return value == expected; });
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "each command sees what the ones before it wrote: uploads, kernels, clears, downloads") {
    const Kernel affine = test::compile_kernel(context, test::kAffine);
    const Buffer a = make_buffer(context), b = make_buffer(context);
    const std::vector<float> ones(kCount, 1.0f);
    Stream stream(context);
    const auto step = [&](const Buffer& from, const Buffer& to, float factor, float offset) {
      stream.dispatch(affine, {from, to}, AffineParameters{kCount, factor, offset}, kGroups);
    };
    stream.upload(a, 0, std::span<const float>(ones));
    step(a, b, 2.0f, 1.0f);                     // read after the upload: b = 3
    const Download first = stream.download(b);  // read after write
    step(b, a, 10.0f, 0.0f);                    // a, read before, is written: a = 30
    step(a, b, 1.0f, 5.0f);                     // b, read twice before, is written again: b = 35
    const Download second = stream.download(b);
    stream.clear(b);         // written while the download still reads
    step(b, a, 1.0f, 7.0f);  // a = 7
    const Download third = stream.download(a);
    stream.upload(a, 0, std::span<const float>(ones));
    const Download fourth = stream.download(a);
    CHECK(stream.dispatches() == 4);
    Submission submission = std::move(stream).submit();
    submission.wait();
    CHECK(submission.dispatches() == 4);
    CHECK(all_equal(submission.values<float>(first), 3.0f));
    CHECK(all_equal(submission.values<float>(second), 35.0f));
    CHECK(all_equal(submission.values<float>(third), 7.0f));
    CHECK(all_equal(submission.values<float>(fourth), 1.0f));
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "a scratch is one buffer until more room is asked for, and kernels that share it wait for each other") {
    const Kernel affine = test::compile_kernel(context, test::kAffine);
    const Buffer a = make_buffer(context), b = make_buffer(context), c = make_buffer(context);
    const std::vector<float> ones(kCount, 1.0f);
    Stream stream(context);
    const auto step = [&](const Slice& from, const Slice& to, float factor) {
      stream.dispatch(affine, {from, to}, AffineParameters{kCount, factor, 0.0f}, kGroups);
    };
    constexpr std::size_t kBytes = kCount * sizeof(float);
    stream.upload(a, 0, std::span<const float>(ones));
    const Buffer& first = stream.scratch(kBytes, "a test");
    step(a, first, 2.0f);
    step(first, b, 2.0f);  // b = 4
    const Buffer& second = stream.scratch(kBytes / 2, "a test");
    CHECK(&second == &first);
    step(a, second, 3.0f);
    step(second, c, 3.0f);  // c = 9
    const Buffer& larger = stream.scratch(2 * kBytes, "a test");
    CHECK(&larger != &first);
    CHECK(larger.size() >= 2 * kBytes);
    step(a, Slice(larger, 0, kBytes), 5.0f);
    const Download from_b = stream.download(b), from_c = stream.download(c),
                   from_scratch = stream.download(Slice(larger, 0, kBytes));
    Submission submission = std::move(stream).submit();
    submission.wait();
    CHECK(all_equal(submission.values<float>(from_b), 4.0f));
    CHECK(all_equal(submission.values<float>(from_c), 9.0f));
    CHECK(all_equal(submission.values<float>(from_scratch), 5.0f));
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a long chain through two buffers, more dispatches than one descriptor pool holds") {
    const Kernel affine = test::compile_kernel(context, test::kAffine);
    const Buffer buffers[] = {make_buffer(context), make_buffer(context)};
    Stream stream(context);
    stream.clear(buffers[0]);
    for (std::size_t i = 0; i < 200; ++i) {
      stream.dispatch(affine, {buffers[i % 2], buffers[(i + 1) % 2]}, AffineParameters{kCount, 1.0f, 1.0f}, kGroups);
    }
    const Download result = stream.download(buffers[0]);
    Submission submission = std::move(stream).submit();
    submission.wait();
    CHECK(all_equal(submission.values<float>(result), 200.0f));
  }

  TEST_CASE_FIXTURE(test::OnGpu, "kernels read and write the slices that they are given") {
    const Kernel affine = test::compile_kernel(context, test::kAffine);
    const Buffer source(context, 3 * 256, Memory::Device, "a test"), result(context, 3 * 256, Memory::Device, "a test");
    std::vector<float> counting(3 * 64);
    std::iota(counting.begin(), counting.end(), 0.0f);
    Stream stream(context);
    stream.upload(source, 0, std::span<const float>(counting));
    stream.clear(result);
    stream.dispatch(affine, {Slice(source, 256, 256), Slice(result, 512, 256)}, AffineParameters{64, 1.0f, 0.0f}, {1, 1, 1});
    const Download bytes = stream.download(result);
    Submission submission = std::move(stream).submit();
    submission.wait();
    const auto values = submission.values<float>(bytes);
    CHECK(std::all_of(values.begin(), values.begin() + 128, [](float value) { return value == 0.0f; }));
    CHECK(std::equal(values.begin() + 128, values.end(), counting.begin() + 64));
  }

  TEST_CASE_FIXTURE(test::OnGpu, "submissions report the times of their sections") {
    const Kernel affine = test::compile_kernel(context, test::kAffine);
    const Buffer a = make_buffer(context), b = make_buffer(context);
    Stream stream(context);
    stream.clear(a);
    stream.mark("clear");
    stream.dispatch(affine, {a, b}, AffineParameters{kCount, 1.0f, 0.0f}, kGroups);
    stream.mark("affine");
    Submission submission = std::move(stream).submit();
    submission.wait();
    if (context.device().timestamp_period_ns == 0.0f) return test::skip("the device has no timestamps");
    const auto sections = submission.sections();
    REQUIRE(sections.size() == 2);
    CHECK(sections[0].label == "clear");
    CHECK(sections[1].label == "affine");
    CHECK(sections[1].gpu_ms > 0.0);
    CHECK(submission.gpu_ms() >= sections[0].gpu_ms + sections[1].gpu_ms);
    CHECK(submission.gpu_ms() < 60'000.0);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "more marks than there are timestamps fold into the last section") {
    Stream stream(context);
    const Buffer buffer(context, 256, Memory::Device, "a test");
    for (int i = 0; i < 300; ++i) {
      stream.clear(buffer);
      stream.mark("clear");
    }
    Submission submission = std::move(stream).submit();
    submission.wait();
    if (context.device().timestamp_period_ns > 0.0f) CHECK(submission.sections().size() == 254);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a submission that goes out of scope waits for its work") {
    const Kernel affine = test::compile_kernel(context, test::kAffine);
    const Buffer a = make_buffer(context), b = make_buffer(context);
    for (int i = 0; i < 4; ++i) {
      Stream stream(context);
      stream.clear(a);
      stream.dispatch(affine, {a, b}, AffineParameters{kCount, 1.0f, 3.0f}, kGroups);
      std::move(stream).submit();
    }
    Stream recorded_only(context);
    recorded_only.clear(a);
  }

  TEST_CASE_FIXTURE(
      test::OnGpu,
      "a submission reads earlier ones' results and doesn't overwrite what they still read, without host waits") {
    const Kernel affine = test::compile_kernel(context, test::kAffine);
    const Buffer a = make_buffer(context), b = make_buffer(context);
    const std::vector<float> ones(kCount, 1.0f), twos(kCount, 2.0f);
    std::vector<Submission> submissions;
    std::vector<Download> downloads;
    const auto submit = [&](auto&& record) {
      Stream stream(context);
      record(stream);
      submissions.push_back(std::move(stream).submit());
    };
    const auto step = [&](Stream& stream, const Buffer& from, const Buffer& to, float factor) {
      stream.dispatch(affine, {from, to}, AffineParameters{kCount, factor, 0.0f}, kGroups);
    };
    submit([&](Stream& stream) { stream.upload(a, 0, std::span<const float>(ones)); });
    submit([&](Stream& stream) { step(stream, a, b, 3.0f); });                 // compute reads a copy's result
    submit([&](Stream& stream) { downloads.push_back(stream.download(b)); });  // a copy reads a kernel's result
    submit([&](Stream& stream) { stream.clear(b); });                          // a write after a copy's read
    submit([&](Stream& stream) { step(stream, a, b, 5.0f); });                 // a kernel writes after a clear
    submit(
        [&](Stream& stream) { stream.upload(a, 0, std::span<const float>(twos)); });  // a copy writes after a kernel's read
    submit([&](Stream& stream) { step(stream, b, a, 2.0f); });                        // a kernel writes after a copy
    submit([&](Stream& stream) { downloads.push_back(stream.download(a)); });
    for (Submission& submission : submissions) submission.wait();
    CHECK(all_equal(submissions[2].values<float>(downloads[0]), 3.0f));
    CHECK(all_equal(submissions[7].values<float>(downloads[1]), 10.0f));
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a moved submission keeps its results") {
    const Buffer a = make_buffer(context);
    const std::vector<float> ones(kCount, 1.0f);
    Stream stream(context);
    stream.upload(a, 0, std::span<const float>(ones));
    const Download bytes = stream.download(a);
    Submission first = std::move(stream).submit();
    Stream other(context);
    other.clear(a);
    Submission second = std::move(other).submit();
    second = std::move(first);
    second.wait();
    CHECK(all_equal(second.values<float>(bytes), 1.0f));
  }

  TEST_CASE_FIXTURE(test::OnGpu, "streams one after another share the Vulkan objects of two, also where one is dropped") {
    const Kernel affine = test::compile_kernel(context, test::kAffine);
    const Buffer a = make_buffer(context), b = make_buffer(context);
    const std::vector<float> ones(kCount, 1.0f);
    const auto before = context.recordings_created();
    for (int i = 0; i < 20; ++i) {
      const Stream dropped(context);
      Stream stream(context);
      stream.upload(a, 0, std::span<const float>(ones));
      for (int j = 0; j < 70; ++j) {  // more than one descriptor pool holds
        stream.dispatch(affine, {a, b}, AffineParameters{kCount, 1.0f, static_cast<float>(i)}, kGroups);
      }
      const Download result = stream.download(b);
      Submission submission = std::move(stream).submit();
      submission.wait();
      CHECK(all_equal(submission.values<float>(result), 1.0f + static_cast<float>(i)));
      CHECK(submission.gpu_ms() > 0.0);
    }
    CHECK(context.recordings_created() - before <= 2);
    INFO(fmt::format("{}", fmt::join(context.validation_messages(), "\n")));
    CHECK(context.validation_messages().empty());
  }

  TEST_CASE("long work is split into several submissions with the same result") {
    test::WatchedContext slow({.max_work = 1000.0});
    CHECK(slow->work_per_submission() == 1000.0);
    const Kernel affine = test::compile_kernel(slow, test::kAffine);
    const Buffer a = make_buffer(slow), b = make_buffer(slow);
    const auto run = [&](double multiply_adds) {
      const std::uint64_t before = slow->submissions();
      Stream stream(slow);
      stream.clear(a);
      for (int i = 0; i < 10; ++i) {
        stream.dispatch(affine, {a, b}, AffineParameters{kCount, 1.0f, 1.0f}, kGroups, multiply_adds);
        stream.dispatch(affine, {b, a}, AffineParameters{kCount, 1.0f, 0.0f}, kGroups);
        stream.mark("step");
      }
      const Download result = stream.download(a);
      Submission submission = std::move(stream).submit();
      submission.wait();
      CHECK(all_equal(submission.values<float>(result), 10.0f));
      if (slow->device().timestamp_period_ns > 0.0f) CHECK(submission.gpu_ms() > 0.0);
      return slow->submissions() - before;
    };
    CHECK(run(0.0) == 1);
    CHECK(run(100.0) == 1);    // all of it is just what one may hold
    CHECK(run(500.0) == 5);    // two steps each
    CHECK(run(501.0) == 10);   // one step each
    CHECK(run(5000.0) == 10);  // a dispatch that is too long by itself can't be cut here
  }
}

}  // namespace stream_test
