// Linear layers by functions of the program, beside those of linear_test.cpp for all kernels.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/half.h"
#include "ops/host_operations.h"
#include "ops/host_threads.h"
#include "ops/host_tile.h"
#include "ops/linear.h"
#include "support/deviation.h"
#include "support/gpu_tensors.h"
#include "support/random.h"

namespace host_linear_test {

using namespace headlight;
using namespace headlight::ops;

namespace {

/// y of a layer of a random weight; `rows` of it alone are computed.
std::vector<float> layer(Kernels& kernels, LinearKernel kind, const Tensor& x, const Tensor& weight, WeightType type,
                         Rows rows) {
  kernels.set_tuning({.few_rows = kind, .many_rows = kind});
  const LinearSource source{.weight = weight.values, .out = weight.axis(0), .in = weight.axis(1), .type = type};
  const PackedLinear packed = pack(kernels.context(), {&source, 1}, "a test");
  gpu::Stream stream(kernels.context());
  const DeviceTensor from = test::put(stream, x);
  const DeviceTensor to(stream, x.axis(0), 1, x.axis(2), weight.axis(0), "a test");
  linear(stream, kernels, from, packed, to, {.activation = Activation::GeluTanh, .rows = rows});
  const gpu::Download bytes = stream.download(to.buffer());
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  return test::take(to, submission.values<float>(bytes)).values.values;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("host tile: every width of vectors multiplies and adds in the order of k") {
    constexpr std::uint32_t kInner = 37;
    test::Random random(5);
    for (const HostTile* const* tile = host_tiles(); *tile != nullptr; ++tile) {
      CAPTURE((*tile)->vectors);
      for (std::uint32_t rows = 1; rows <= 20; ++rows) {
        const Tensor x = random.tensor({rows, kInner + 3}), weight = random.tensor({kInner, HostTile::kColumns});
        std::vector<float> sums(std::size_t{rows} * HostTile::kColumns, std::numeric_limits<float>::quiet_NaN());
        const HostTile::Product whole{.x = x.values.data(),
                                      .x_stride = kInner + 3,
                                      .rows = rows,
                                      .weight = weight.values.data(),
                                      .inner = kInner,
                                      .sum = sums.data(),
                                      .adds = false};
        (*tile)->multiply[0](whole);
        double worst = 0.0;
        for (std::size_t row = 0; row < rows; ++row) {
          for (std::size_t column = 0; column < HostTile::kColumns; ++column) {
            double sum = 0.0;
            for (std::size_t k = 0; k < kInner; ++k) {
              sum += static_cast<double>(x.values[row * (kInner + 3) + k]) *
                     static_cast<double>(weight.values[k * HostTile::kColumns + column]);
            }
            test::widen(worst, static_cast<double>(sums[row * HostTile::kColumns + column]), sum);
          }
        }
        CHECK(worst < 5e-6);  // observed 1.3e-6
        // The bits are the same in two parts, and with each row by itself.
        std::vector<float> parts(sums.size(), std::numeric_limits<float>::quiet_NaN());
        for (std::uint32_t row = 0; row < rows; ++row) {
          HostTile::Product part = whole;
          part.x += row * whole.x_stride;
          part.rows = 1;
          part.sum = parts.data() + std::size_t{row} * HostTile::kColumns;
          part.inner = 20;
          (*tile)->multiply[0](part);
          part.x += 20;
          part.weight = weight.values.data() + std::size_t{20} * HostTile::kColumns;
          part.inner = kInner - 20;
          part.adds = true;
          (*tile)->multiply[0](part);
        }
        CHECK(parts == sums);
      }
    }
  }

  TEST_CASE("host tile: every number of 16 bits is widened as the host does") {
    const std::vector<float> one{1.0f};
    for (const HostTile* const* tile = host_tiles(); *tile != nullptr; ++tile) {
      for (const WeightType type : {WeightType::F16, WeightType::BF16}) {
        CAPTURE((*tile)->vectors);
        CAPTURE(static_cast<int>(type));
        for (std::uint32_t first = 0; first < 0x10000; first += HostTile::kColumns) {
          std::array<std::uint16_t, HostTile::kColumns> words;
          std::iota(words.begin(), words.end(), static_cast<std::uint16_t>(first));
          std::array<float, HostTile::kColumns> wide, sums;
          const auto convert = type == WeightType::F16 ? from_halves : from_bfloats;
          convert(std::as_bytes(std::span(words)).data(), words.size(), wide.data());
          (*tile)->multiply[static_cast<std::size_t>(type)]({.x = one.data(),
                                                             .x_stride = 1,
                                                             .rows = 1,
                                                             .weight = words.data(),
                                                             .inner = 1,
                                                             .sum = sums.data(),
                                                             .adds = false});
          for (std::size_t i = 0; i < words.size(); ++i) {
            const bool is_same = sums[i] == wide[i] || (std::isnan(sums[i]) && std::isnan(wide[i]));
            if (!is_same) {
              CAPTURE(words[i]);
              CHECK(sums[i] == wide[i]);
            }
          }
        }
      }
    }
  }

  TEST_CASE("host tile: activations of every width of vectors, and of numbers that aren't finite") {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    std::vector<float> numbers;
    for (int i = -640; i < 640; ++i) numbers.push_back(static_cast<float>(i) * 0.025f);
    numbers.insert(numbers.end(), {1e-30f, -1e-30f, 87.5f, -87.5f, 88.5f, -88.5f, 1e4f, -1e4f});
    numbers.resize((numbers.size() + HostTile::kColumns - 1) / HostTile::kColumns * HostTile::kColumns);
    const std::vector<float> zeros(HostTile::kColumns, 0.0f);
    const auto rows = static_cast<std::uint32_t>(numbers.size() / HostTile::kColumns);
    const auto exact = [](std::uint32_t activation, double x) {
      switch (activation) {
        case 1:
          return std::max(x, 0.0);
        case 2:
          return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
        case 3:
          return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
        case 4:
          return x / (1.0 + std::exp(-x));
        case 5:
          return std::max(x, 0.0) * std::max(x, 0.0);
        default:
          return x;
      }
    };
    for (const HostTile* const* tile = host_tiles(); *tile != nullptr; ++tile) {
      for (std::uint32_t activation = 0; activation <= 5; ++activation) {
        CAPTURE((*tile)->vectors);
        CAPTURE(activation);
        std::vector<float> values = numbers;
        (*tile)->finish(activation, zeros.data(), rows, values.data());
        double worst = 0.0;
        for (std::size_t i = 0; i < values.size(); ++i) {
          test::widen(worst, static_cast<double>(values[i]), exact(activation, static_cast<double>(numbers[i])));
        }
        CHECK(worst < (activation == 5 ? 1e-5 : 5e-6));  // observed 7.6e-6, of squares up to 256, and 9.6e-7
        std::vector<float> odd(HostTile::kColumns, std::numeric_limits<float>::quiet_NaN());
        odd[1] = kInfinity;
        odd[2] = 1.0f;
        (*tile)->finish(activation, zeros.data(), 1, odd.data());
        CHECK(odd[1] == kInfinity);
        CHECK(std::isfinite(odd[2]));
        for (std::size_t i = 3; i < odd.size(); ++i) CHECK(std::isnan(odd[i]));
      }
    }
  }

  TEST_CASE("host threads: every part runs once, loop after loop, and what one throws comes out") {
    constexpr double kMany = 1e9;  // multiply-adds
    for (const std::uint32_t count : {1u, 2u, 5u}) {
      HostThreads threads(count);
      for (std::uint32_t parts : {0u, 1u, 2u, 100u, 1000u}) {
        std::vector<std::atomic<int>> calls(parts);
        threads.run(parts, kMany, [&](std::uint32_t part) { ++calls.at(part); });
        for (const std::atomic<int>& call : calls) CHECK(call == 1);
      }
      CHECK_THROWS_AS(threads.run(50, kMany,
                                  [](std::uint32_t part) {
                                    if (part == 7) throw std::runtime_error("a part failed");
                                  }),
                      std::runtime_error);
      for (int i = 0; i < 20'000; ++i) {  // short loops, so that threads join them while they end
        std::atomic<int> calls = 0;
        threads.run(3, kMany, [&](std::uint32_t /*part*/) { ++calls; });
        REQUIRE(calls == 3);
      }
      std::atomic<int> sum = 0;
      threads.run(10, kMany, [&](std::uint32_t part) { sum += static_cast<int>(part); });
      CHECK(sum == 45);
      const std::thread::id caller = std::this_thread::get_id();
      threads.run(100, HostThreads::kWorthThreads / 2, [&](std::uint32_t) { CHECK(std::this_thread::get_id() == caller); });
    }
  }
}

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "linear on the host: many rows and inputs, on threads, are as exact as a shader's") {
    Kernels& kernels = test::shared_kernels();
    test::Random random(8);
    const Tensor x = random.tensor({2, 1, 131, 601});
    Tensor weight = random.tensor({130, 601});
    for (float& value : weight.values) value = from_half(to_half(value * 0.05f));
    const Rows all{0, 131};
    const std::vector<float> shader = layer(kernels, LinearKernel::Naive, x, weight, WeightType::F32, all);
    const std::vector<float> host = layer(kernels, LinearKernel::Host, x, weight, WeightType::F32, all);
    double worst = 0.0;
    for (std::size_t i = 0; i < host.size(); ++i) {
      test::widen(worst, static_cast<double>(host[i]), static_cast<double>(shader[i]));
    }
    CHECK(worst < 2e-5);  // observed 2.1e-6
    CHECK(layer(kernels, LinearKernel::Host, x, weight, WeightType::F16, all) == host);
    const std::vector<float> few = layer(kernels, LinearKernel::Host, x, weight, WeightType::F16, {97, 5});
    // Rows computed by themselves have the same bits.
    const std::vector<float> some = layer(kernels, LinearKernel::Host, x, weight, WeightType::F32, {97, 5});
    for (std::size_t item = 0; item < 2; ++item) {
      for (std::size_t i = 97 * 130; i < 102 * 130; ++i) {
        CHECK(some[item * 131 * 130 + i] == host[item * 131 * 130 + i]);
        CHECK(few[item * 131 * 130 + i] == host[item * 131 * 130 + i]);
      }
    }
  }

  TEST_CASE("linear on the host: only where memory is the program's, and never with shaders alone") {
    test::Random random(9);
    const Tensor x = random.tensor({1, 1, 5, 9}), weight = random.tensor({7, 9});
    for (const gpu::ContextOptions& options : {gpu::ContextOptions{}, gpu::ContextOptions{.has_private_memory = true},
                                               gpu::ContextOptions{.shaders_only = true}}) {
      test::WatchedContext context(options);
      const bool can = context->device().runs_host_steps;
      if (options.has_private_memory || options.shaders_only) CHECK_FALSE(can);
      Kernels kernels(context);
      CHECK((kernels.tuning().many_rows == LinearKernel::Host) == can);
      layer(kernels, LinearKernel::Host, x, weight, WeightType::F32, {0, 5});
      CHECK((context->host_waits() > 0) == can);
      if (can) continue;
      Tuning tuning = default_tuning(context->device());
      for (std::uint32_t step = 0; step < 2 * (kCandidates + 1); ++step) measure_step(kernels, step, tuning);
      CHECK(tuning.few_rows != LinearKernel::Host);
      CHECK(tuning.many_rows != LinearKernel::Host);
      CHECK(context->host_waits() == 0);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "functions of the program are tried for few and for many rows, on processors alone") {
    for (const bool runs_host_steps : {false, true}) {
      gpu::DeviceInfo device = context.device();
      device.is_cpu = true;
      device.runs_host_steps = runs_host_steps;
      for (const bool has_few_rows : {false, true}) {
        const std::vector<LinearKernel> linear = linear_candidates(device, has_few_rows);
        CHECK(std::ranges::count(linear, LinearKernel::Host) == (runs_host_steps ? 1 : 0));
        CHECK(std::ranges::count(linear, LinearKernel::Gemv) == 0);
        CHECK(std::ranges::count(linear, LinearKernel::Vec4) == 1);
      }
      CHECK(std::ranges::count(attention_candidates(device), AttentionKernel::Host) == (runs_host_steps ? 1 : 0));
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a GPU's default is its own kernels") {
    gpu::DeviceInfo gpu = context.device();
    gpu.is_cpu = gpu.runs_host_steps = false;
    CHECK(std::ranges::count(linear_candidates(gpu, true), LinearKernel::Gemv) == 1);
    CHECK(std::ranges::count(linear_candidates(gpu, false), LinearKernel::Gemv) == 0);
    CHECK(default_tuning(gpu).few_rows == LinearKernel::Gemv);
    CHECK(default_tuning(gpu).many_rows == LinearKernel::Tiled);
    CHECK(default_shader(context.device()) != LinearKernel::Host);
  }
}

}  // namespace host_linear_test
