// Steps of the host between a stream's commands, on a processor as the device.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "gpu/stream.h"
#include "gpu/test_kernel.h"
#include "support/error_message.h"
#include "support/gpu.h"
#include "support/skip.h"

namespace host_step_test {

using namespace headlight;
using namespace headlight::gpu;
using test::AffineParameters;

namespace {

constexpr std::uint32_t kCount = 10'000;
constexpr Groups kGroups{(kCount + 63) / 64, 1, 1};

Buffer make_buffer(Context& context) { return {context, kCount * sizeof(float), Memory::Device, "a test"}; }

std::span<float> numbers(const Buffer& buffer) {
  return {reinterpret_cast<float*>(buffer.mapped().data()), buffer.size() / sizeof(float)};
}

bool all_equal(std::span<const float> values, float expected) {
  return values.size() == kCount &&
         std::all_of(values.begin(), values.end(), [&](float value) { return value == expected; });
}

/// to = factor · from, by the host.
void multiply_on_host(Stream& stream, const Buffer& from, const Buffer& to, float factor) {
  stream.run_on_host([source = numbers(from), target = numbers(to), factor] {
    std::transform(source.begin(), source.end(), target.begin(), [&](float value) { return factor * value; });
  });
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "a step of the host sees what commands wrote before, and those behind see what it wrote") {
    if (!context.device().runs_host_steps) return test::skip("the device runs no steps of the host");
    const Kernel affine = test::compile_kernel(context, test::kAffine);
    const Buffer a = make_buffer(context), b = make_buffer(context);
    const std::vector<float> ones(kCount, 1.0f);
    const auto add = [&](Stream& stream, const Buffer& from, const Buffer& to, float offset) {
      stream.dispatch(affine, {from, to}, AffineParameters{kCount, 1.0f, offset}, kGroups);
    };
    const std::uint64_t submissions = context.submissions(), waits = context.host_waits();
    Stream stream(context);
    stream.upload(a, 0, std::span<const float>(ones));
    add(stream, a, b, 4.0f);               // b = 5
    multiply_on_host(stream, b, a, 3.0f);  // a = 15
    multiply_on_host(stream, a, a, 2.0f);  // a = 30, without another wait
    add(stream, a, b, 7.0f);               // b = 37
    const Download middle = stream.download(b);
    multiply_on_host(stream, b, b, 10.0f);  // b, which the download reads, is written: 370
    stream.clear(a);
    multiply_on_host(stream, a, a, 5.0f);  // a = 0
    multiply_on_host(stream, b, a, 0.5f);  // a = 185: the last is a step of the host
    const Download end = stream.download(a);
    CHECK(stream.dispatches() == 2 + 5);
    Submission submission = std::move(stream).submit();
    submission.wait();
    CHECK(all_equal(submission.values<float>(middle), 37.0f));
    CHECK(all_equal(submission.values<float>(end), 185.0f));
    CHECK(context.host_waits() - waits == 3);
    CHECK(context.submissions() - submissions == 3 + 1);
    if (context.device().timestamp_period_ns > 0.0f) CHECK(submission.gpu_ms() > 0.0);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a stream of steps of the host alone") {
    if (!context.device().runs_host_steps) return test::skip("the device runs no steps of the host");
    const Buffer a = make_buffer(context);
    std::ranges::fill(numbers(a), 2.0f);
    Stream stream(context);
    for (int i = 0; i < 5; ++i) multiply_on_host(stream, a, a, 2.0f);
    CHECK(all_equal(numbers(a), 2.0f));  // nothing runs before submit()
    Submission submission = std::move(stream).submit();
    submission.wait();
    CHECK(all_equal(numbers(a), 64.0f));
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "what a step of the host throws comes out of submit, nothing behind it runs, and the device goes on") {
    if (!context.device().runs_host_steps) return test::skip("the device runs no steps of the host");
    const Kernel affine = test::compile_kernel(context, test::kAffine);
    const Buffer a = make_buffer(context), b = make_buffer(context);
    bool has_run = false;
    {
      Stream stream(context);
      stream.clear(a);
      stream.clear(b);
      stream.run_on_host([] { throw Error(ErrorKind::OutOfDeviceMemory, "no room for a step"); });
      stream.run_on_host([&] { has_run = true; });
      stream.dispatch(affine, {a, b}, AffineParameters{kCount, 1.0f, 9.0f}, kGroups);
      ErrorKind kind{};
      try {
        std::move(stream).submit();
      } catch (const Error& error) {
        kind = error.kind();
        CHECK(std::string(error.what()) == "no room for a step");
      }
      CHECK(kind == ErrorKind::OutOfDeviceMemory);
    }
    CHECK_FALSE(has_run);
    Stream stream(context);
    stream.dispatch(affine, {b, a}, AffineParameters{kCount, 1.0f, 1.0f}, kGroups);
    const Download bytes = stream.download(a);
    Submission submission = std::move(stream).submit();
    submission.wait();
    CHECK(all_equal(submission.values<float>(bytes), 1.0f));  // b stayed 0
  }

  TEST_CASE("steps of the host in work that is split into submissions") {
    test::WatchedContext slow({.max_work = 1000.0});
    if (!slow->device().runs_host_steps) return test::skip("the device runs no steps of the host");
    const Kernel affine = test::compile_kernel(slow, test::kAffine);
    const Buffer a = make_buffer(slow), b = make_buffer(slow);
    Stream stream(slow);
    stream.clear(a);
    for (int i = 0; i < 4; ++i) {
      stream.dispatch(affine, {a, b}, AffineParameters{kCount, 1.0f, 1.0f}, kGroups, 900.0);
      stream.dispatch(affine, {b, a}, AffineParameters{kCount, 1.0f, 0.0f}, kGroups, 900.0);
      multiply_on_host(stream, a, a, 2.0f);
      stream.mark("step");
    }
    Submission submission = std::move(stream).submit();
    submission.wait();
    CHECK(all_equal(numbers(a), 30.0f));  // 2, 6, 14, 30
    CHECK(slow->host_waits() == 4);
    CHECK(slow->submissions() == 2 * 4 + 1);
  }

  TEST_CASE("the host has no steps where the device's memory isn't the program's, or kernels of Vulkan are wanted") {
    for (const ContextOptions& options :
         {ContextOptions{.has_private_memory = true}, ContextOptions{.shaders_only = true}}) {
      test::WatchedContext context(options);
      CHECK_FALSE(context->device().runs_host_steps);
      Stream stream(context);
      CHECK(test::is_one_line(test::error_message([&] { stream.run_on_host([] {}); })));
    }
  }

  TEST_CASE("a GPU runs no steps of the host") {
    for (const DeviceInfo& device : list_devices()) {
      if (!device.is_cpu) CHECK_FALSE(device.runs_host_steps);
    }
  }
}

}  // namespace host_step_test
