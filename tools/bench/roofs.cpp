#include "tools/bench/roofs.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/processor.h"
#include "gpu/shader_compiler.h"
#include "ops/host_threads.h"
#include "tools/bench/stopwatch.h"

namespace headlight::bench {
namespace {

constexpr std::uint32_t kLanes = 64;       // of a workgroup
constexpr std::uint32_t kSums = 8;         // vectors of four numbers that a lane adds to
constexpr std::size_t kCopied = 64 << 20;  // bytes: more than caches hold

/// Every lane multiplies and adds in registers.
constexpr std::string_view kMultiplyAdd = R"(#version 450
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint rounds; float factor; float summand; };
layout(set = 0, binding = 0, std430) writeonly buffer result_buffer { vec4 result[]; };
void main() {
  vec4 sums[8];
  [[unroll]] for (int n = 0; n < 8; ++n) sums[n] = vec4(float(gl_LocalInvocationID.x + uint(n)));
  for (uint r = 0u; r < rounds; ++r) {
    [[unroll]] for (int n = 0; n < 8; ++n) sums[n] = fma(sums[n], vec4(factor), vec4(summand));
  }
  vec4 total = vec4(0.0);
  [[unroll]] for (int n = 0; n < 8; ++n) total += sums[n];
  result[gl_LocalInvocationID.x] = total;
})";
struct MultiplyAddParameters {
  std::uint32_t rounds = 0;
  float factor = 0.999F, summand = 0.001F;
};

gpu::Kernel compile_loop(gpu::Context& context, std::string_view glsl) {
  const auto spirv = std::make_shared<const std::vector<std::uint32_t>>(
      gpu::compile_glsl([&](std::string_view /*path*/) { return std::string(glsl); }, "loop.comp", {}));
  return {context,
          gpu::KernelSource{
              .name = "loop", .file = "loop.comp", .defines = {}, .spirv = *spirv, .constants = {}, .compiled = spirv}};
}

/// The fastest of some rounds after a first one: a roof is what the device can reach, whatever else the machine does.
Timing fastest(const std::function<Timing()>& call) {
  constexpr int kRounds = 8;
  call();
  Timing best = call();
  for (int round = 1; round < kRounds; ++round) {
    const Timing timing = call();
    if (timing.wall_ms < best.wall_ms) best = timing;
  }
  return best;
}

/// GFLOP/s or GB/s of so many operations or bytes.
double rate(double count, const Timing& timing) { return count / timing.wall_ms * 1e-6; }

double shader_gflops(gpu::Context& context) {
  constexpr std::uint32_t kRoundsOfLoop = 2'000, kMaxGroups = 32'768;
  constexpr double kLongEnough_ms = 20.0;
  const gpu::Kernel kernel = compile_loop(context, kMultiplyAdd);
  const gpu::Buffer result(context, kLanes * 4 * sizeof(float), gpu::Memory::Device, "a loop to measure");
  double best = 0.0;
  for (std::uint32_t groups = 16; groups <= kMaxGroups; groups *= 4) {
    const double multiply_adds = static_cast<double>(groups) * kLanes * kSums * 4 * kRoundsOfLoop;
    const Timing timing = fastest([&] {
      return run_once(context, [&](gpu::Stream& stream) {
        stream.dispatch(kernel, {result}, MultiplyAddParameters{.rounds = kRoundsOfLoop}, {groups, 1, 1}, multiply_adds);
      });
    });
    best = std::max(best, rate(2.0 * multiply_adds, timing));
    if (timing.wall_ms > kLongEnough_ms) break;
  }
  return best;
}

double device_gbytes(gpu::Context& context) {
  const gpu::Buffer from(context, kCopied, gpu::Memory::Device, "a loop to measure"),
      to(context, kCopied, gpu::Memory::Device, "a loop to measure");
  run_once(context, [&](gpu::Stream& stream) {
    stream.clear(from);
    stream.clear(to);
  });
  const Timing timing = fastest([&] { return run_once(context, [&](gpu::Stream& stream) { stream.copy(from, to); }); });
  return rate(2.0 * kCopied, timing);
}

constexpr std::uint32_t kHostRounds = 2'000'000, kHostSums = 12;

/// The sum of what so many rounds left in registers, so that no compiler leaves them out.
template <typename Vector>
[[gnu::always_inline]] inline float multiply_add(float factor, float summand) {
  std::array<Vector, kHostSums> sums{};
  for (std::uint32_t round = 0; round < kHostRounds; ++round) {
    for (Vector& sum : sums) sum = sum * factor + summand;
  }
  float total = 0.0F;
  for (const Vector& sum : sums) total += sum[0];
  return total;
}

using Vector4 [[gnu::vector_size(16)]] = float;
using Vector8 [[gnu::vector_size(32)]] = float;
using Vector16 [[gnu::vector_size(64)]] = float;

/// Numbers of a vector, and the loop over vectors of them.
struct HostLoop {
  std::uint32_t width;
  float (*run)(float factor, float summand);
};
float run_portable(float factor, float summand) { return multiply_add<Vector4>(factor, summand); }
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] float run_avx2(float factor, float summand) { return multiply_add<Vector8>(factor, summand); }
[[gnu::target("avx512f,fma")]] float run_avx512(float factor, float summand) {
  return multiply_add<Vector16>(factor, summand);
}
#endif

HostLoop host_loop() {
#if defined(__x86_64__)
  if (has_avx2() && __builtin_cpu_supports("avx512f") != 0) return {16, run_avx512};
  if (has_avx2() && __builtin_cpu_supports("fma") != 0) return {8, run_avx2};
#endif
  return {4, run_portable};
}

Timing time_parts(ops::HostThreads& threads, std::uint32_t parts, const std::function<void(std::uint32_t)>& part) {
  return fastest([&] { return time_once([&] { threads.run(parts, 1e12, part); }); });
}

double program_gflops(ops::HostThreads& threads) {
  const std::uint32_t parts = std::max(std::thread::hardware_concurrency(), 1U);
  const HostLoop loop = host_loop();
  std::atomic<float> factor = 0.999F, kept = 0.0F;
  const Timing timing = time_parts(threads, parts, [&](std::uint32_t /*part*/) { kept = loop.run(factor, 0.001F); });
  return rate(2.0 * parts * kHostRounds * kHostSums * loop.width, timing);
}

double program_gbytes(ops::HostThreads& threads) {
  constexpr std::uint32_t kParts = 64;
  constexpr std::size_t kPart = kCopied / kParts;
  std::vector<char> from(kCopied, 1), to(kCopied, 2);
  const Timing timing = time_parts(threads, kParts, [&](std::uint32_t part) {
    std::memcpy(to.data() + part * kPart, from.data() + part * kPart, kPart);
  });
  return rate(2.0 * kCopied, timing);
}

}  // namespace

Roofs measure_roofs(ops::Kernels& kernels) {
  gpu::Context& context = kernels.context();
  Roofs roofs{.shader_gflops = shader_gflops(context),
              .device_gbytes = device_gbytes(context),
              .program_gflops = {},
              .program_gbytes = {}};
  const ops::Tuning& tuning = kernels.tuning();
  if (is_host(tuning.many_rows) || is_host(tuning.few_rows) || is_host(tuning.attention)) {
    roofs.program_gflops = program_gflops(kernels.host_threads());
    roofs.program_gbytes = program_gbytes(kernels.host_threads());
  }
  return roofs;
}

}  // namespace headlight::bench
