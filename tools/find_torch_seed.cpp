// Which seeds make torch.randn(n ≥ 16) begin as a notebook prints it? Tries all 2³² seeds of torch's CPU generator in
// minutes: a block of 16 normals is Box–Muller of its first eight uniforms with its last eight
// (src/model/torch_random.h), so the numbers 0 and 8 alone tell draws 0 and 8 of the generator. What it prints, some 10
// seeds, are compared with the other numbers by hand: torch.manual_seed(seed); torch.randn(…). It found the seeds of
// src/inference/notebook_builders.cpp.
//
//   ninja -C build/release find_torch_seed && build/release/bin/find_torch_seed -1.0202 -0.6834
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <vector>

namespace {

/// 16 seeds at a time: the compiler makes vector instructions of it.
using Lanes = std::uint32_t __attribute__((vector_size(64)));
constexpr std::uint32_t kLanes = 16, kUniformBits = 24, kShift = 397;

/// The generator's output of a word of its state.
template <typename Word>
Word temper(Word y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680U;
  y ^= (y << 15) & 0xefc60000U;
  return y ^ (y >> 18);
}

/// Draws that fit a printed number, of 2^24.
struct Range {
  std::uint32_t low = 0, count = 0;

  Range(double from, double to)
      : low(static_cast<std::uint32_t>(std::floor(from * 0x1p24)) - 2),
        count(static_cast<std::uint32_t>(std::ceil(to * 0x1p24)) + 2 - low) {}
  bool contains(std::uint32_t draw) const { return (draw & ((1U << kUniformBits) - 1)) - low <= count; }
};

/// Draw number `index` (below 227) of a seed.
std::uint32_t draw(std::uint32_t seed, std::uint32_t index) {
  std::vector<std::uint32_t> state(kShift + index + 1);
  state[0] = seed;
  for (std::uint32_t i = 1; i < state.size(); ++i) state[i] = (state[i - 1] ^ state[i - 1] >> 30) * 1812433253U + i;
  const std::uint32_t y = (state[index] & 0x80000000U) | (state[index + 1] & 0x7fffffffU);
  return temper(state[index + kShift] ^ y >> 1 ^ ((y & 1U) != 0 ? 0x9908b0dfU : 0U));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fputs("usage: find_torch_seed NUMBER_0 NUMBER_8, as printed with four decimals\n", stderr);
    return 2;
  }
  const double first = std::atof(arguments[1]), other = std::atof(arguments[2]);
  double near = 1e9, far = 0.0, low = 1e9, high = 0.0;  // of radius² and angle, at the corners of what rounds to both
  for (const double x : {first - 6e-5, first + 6e-5}) {
    for (const double y : {other - 6e-5, other + 6e-5}) {
      const double square = x * x + y * y, angle = std::atan2(y, x) + (y < 0.0 ? 2.0 * std::numbers::pi : 0.0);
      near = std::min(near, square);
      far = std::max(far, square);
      low = std::min(low, angle);
      high = std::max(high, angle);
    }
  }
  const Range radius_draw(1.0 - std::exp(-near / 2.0), 1.0 - std::exp(-far / 2.0));
  const Range angle_draw(low / (2.0 * std::numbers::pi), high / (2.0 * std::numbers::pi));
  for (std::uint64_t seed = 0; seed < std::uint64_t{1} << 32; seed += kLanes) {
    Lanes state, begin, next;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) begin[lane] = static_cast<std::uint32_t>(seed) + lane;
    next = state = (begin ^ begin >> 30) * 1812433253U + 1U;
    for (std::uint32_t i = 2; i <= kShift; ++i) state = (state ^ state >> 30) * 1812433253U + i;
    const Lanes y = (begin & 0x80000000U) | (next & 0x7fffffffU);
    const Lanes drawn = temper(state ^ y >> 1 ^ (-(y & 1U) & 0x9908b0dfU));
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t one = static_cast<std::uint32_t>(seed) + lane;
      if (radius_draw.contains(drawn[lane]) && angle_draw.contains(draw(one, 8))) std::printf("%u\n", one);
    }
  }
  return 0;
}
