// Kernels that are listed first and compiled together.
#include "ops/kernels.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>
#include <utility>
#include <vector>

#include "ops/compile.h"
#include "ops/kernel_variant.h"
#include "support/error_message.h"
#include "support/gpu_tensors.h"
#include "support/skip.h"

namespace kernels_test {

using namespace headlight;
using namespace headlight::ops;

namespace {

const KernelVariant kScaleHead{.shader = Shader::ScaleHead}, kMatrixRegion{.shader = Shader::MatrixRegion},
    kRotate{.shader = Shader::Rotate};
const KernelVariant kVariants[] = {
    kScaleHead, kMatrixRegion, kRotate, {.shader = Shader::Norm, .constants = {8}}, {.shader = Shader::LinearNaive}};

/// Kernels without pipelines.
std::vector<gpu::Kernel> uncompiled(gpu::Context& context) {
  std::vector<gpu::Kernel> kernels;
  for (const KernelVariant& variant : kVariants)
    kernels.emplace_back(context, kernel_source(variant), gpu::Kernel::Pipeline::Later);
  return kernels;
}

std::vector<gpu::Kernel*> pointers(std::vector<gpu::Kernel>& kernels) {
  std::vector<gpu::Kernel*> result;
  for (gpu::Kernel& kernel : kernels) result.push_back(&kernel);
  return result;
}

struct Step {
  std::size_t done, total;
  bool operator==(const Step&) const = default;
};

/// Compiles all and checks that the observer was called for each.
void check_compiles_all(gpu::Context& context, CompileOptions options) {
  std::vector<gpu::Kernel> kernels = uncompiled(context);
  std::vector<Step> heard;
  options.observer = [&](std::size_t done, std::size_t total) { heard.push_back({done, total}); };
  compile_in_order(context, pointers(kernels), options);
  for (const gpu::Kernel& kernel : kernels) CHECK(kernel.is_compiled());
  REQUIRE(heard.size() == kernels.size() + 1);
  for (std::size_t i = 0; i < heard.size(); ++i) CHECK(heard[i] == Step{i, kernels.size()});
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "a kernel that is requested while kernels are listed is compiled with the others") {
    Kernels kernels(context);
    {
      const Kernels::Listing listing(kernels);
      CHECK_FALSE(kernels[kScaleHead].is_compiled());
      CHECK_FALSE(kernels[kRotate].is_compiled());
      CHECK_FALSE(kernels[kScaleHead].is_compiled());
      CHECK_FALSE(kernels[kMatrixRegion].is_compiled());
    }
    CHECK(kernels.listed() == std::vector<std::string>{"scale_head", "rotate", "matrix_region"});
    CHECK(kernels[kRotate].is_compiled());  // a dispatch needs it now
    CHECK(kernels.listed() == std::vector<std::string>{"scale_head", "matrix_region"});
    std::size_t calls = 0;
    kernels.compile_listed([&](std::size_t, std::size_t total) {
      ++calls;
      CHECK(total == 2);
    });
    CHECK(calls == 3);
    CHECK(kernels.listed().empty());
    const Kernels::Listing listing(kernels);
    for (const KernelVariant& variant : {kScaleHead, kMatrixRegion, kRotate}) CHECK(kernels[variant].is_compiled());
    CHECK(kernels.listed().empty());
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "kernels that nothing has asked for in a while are forgotten, and compiled when they are needed") {
    constexpr std::chrono::milliseconds kWhile{50};
    Kernels kernels(context);
    CHECK(kernels[kScaleHead].is_compiled());
    {
      const Kernels::Listing listing(kernels);
      CHECK_FALSE(kernels[kMatrixRegion].is_compiled());
    }
    kernels.forget_unused(std::chrono::hours(1));
    CHECK(kernels.loaded() == 2);
    std::this_thread::sleep_for(kWhile);
    CHECK(kernels[kRotate].is_compiled());
    kernels.forget_unused(kWhile);
    CHECK(kernels.loaded() == 1);
    CHECK_FALSE(kernels.has_listed());
    CHECK(kernels[kScaleHead].is_compiled());
    CHECK(kernels.loaded() == 2);
  }

  TEST_CASE("kernels are compiled in their order, so the first ones can be dispatched first") {
    for (const bool compiles_when_made : {false, true}) {
      CAPTURE(compiles_when_made);
      test::WatchedContext context({.compiles_when_made = compiles_when_made});
      std::vector<gpu::Kernel> kernels = uncompiled(context);
      const auto observe = [&](std::size_t done, std::size_t) {
        for (std::size_t i = 0; i < done; ++i) CHECK(kernels[i].is_compiled());
        for (std::size_t i = done; i < kernels.size(); ++i) CHECK_FALSE(kernels[i].is_compiled());
      };
      compile_in_order(context, pointers(kernels), {.observer = observe, .threads = 1});
    }
  }

  TEST_CASE("several threads compile kernels, with drivers that compile when a pipeline is made or in a dispatch") {
    for (const bool compiles_when_made : {false, true}) {
      CAPTURE(compiles_when_made);
      test::WatchedContext context({.compiles_when_made = compiles_when_made});
      for (const std::uint32_t threads : {1u, 2u, 4u, 9u}) {
        CAPTURE(threads);
        check_compiles_all(context, {.long_one = std::chrono::milliseconds(0), .threads = threads});
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a stream that lacks a kernel reports it and can't be submitted") {
    gpu::Kernel kernel(context, kernel_source(kScaleHead), gpu::Kernel::Pipeline::Later);
    const gpu::Buffer buffer(context, 4096, gpu::Memory::Device, "a test");
    const std::vector<gpu::Slice> bindings(kernel.reflection().bindings.size(), buffer);
    const std::vector<std::byte> parameters(kernel.reflection().push_constant_bytes);
    gpu::Stream stream(context);
    CHECK(stream.is_complete());
    stream.dispatch(kernel, bindings, parameters, {.x = 0});
    CHECK_FALSE(stream.is_complete());
    CHECK(stream.dispatches() == 0);
    CHECK(test::error_message([&] { std::move(stream).submit(); }) ==
          "a stream with a kernel that isn't compiled can't be submitted");
    kernel.compile();
    gpu::Stream again(context);
    again.dispatch(kernel, bindings, parameters, {.x = 0});
    CHECK(again.is_complete());
    CHECK(again.dispatches() == 1);
    std::move(again).submit().wait();
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a kernel is compiled once, whatever the sizes of its texel buffers") {
    if (!context.device().compiles_when_run) return test::skip("the device compiles kernels before they run");
    const gpu::Kernel kernel(context, kernel_source({.shader = Shader::AttentionCellsPooled, .reads_texels = true}));
    const std::vector<std::byte> parameters(kernel.reflection().push_constant_bytes);
    // CPU time of this process, in which such a driver compiles.
    const auto cost = [&](std::size_t bytes, std::size_t used) {
      const gpu::Buffer buffer(context, bytes, gpu::Memory::Device, "a test");
      const std::vector<gpu::Slice> bindings(kernel.reflection().bindings.size(), gpu::Slice(buffer, 0, used));
      gpu::Stream stream(context);
      stream.dispatch(kernel, bindings, parameters, {.x = 0});
      const std::clock_t start = std::clock();
      std::move(stream).submit().wait();
      return static_cast<double>(std::clock() - start);
    };
    // A kernel that is compiled again costs four times as much even where the driver finds it in its cache.
    constexpr double kCompiles = 2.5;
    cost(4096, 4096);
    const double compiled = std::min({cost(4096, 4096), cost(4096, 4096), cost(4096, 4096)});
    for (const auto& sizes : {std::pair{4800, 4800},
                              {4800, 4096},
                              {4864, 4864},
                              {65536, 65536},
                              {65792, 256},
                              {65792, 65536},
                              {65792, 65792},
                              {131072, 65536},
                              {160, 160}}) {
      const auto& bytes = sizes.first;
      const auto& used = sizes.second;
      CAPTURE(bytes);
      CAPTURE(used);
      CHECK(cost(static_cast<std::size_t>(bytes), static_cast<std::size_t>(used)) < kCompiles * compiled);
    }
  }
}

}  // namespace kernels_test
