#include "model/torch_random.h"

#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <span>

#include "core/error.h"

// PyTorch evaluates ln, sin and cos here with single-precision polynomials (the minimax coefficients of Moshier's Cephes
// library, logf.c and sinf.c) and fused multiply-adds. A correctly rounded libm differs from them in one value out of seven,
// by up to 4.8e-7; therefore the same polynomials, with every rounding written out. This file must be compiled with
// -ffp-contract=off: a fused operation more or less changes bits.

namespace headlight::model {
namespace {

/// PyTorch draws large normals in blocks of this many numbers.
inline constexpr std::size_t kNormalBlock = 16;

/// x·y + z, rounded once. Not std::fma, which some C libraries round twice, and which is a call where the processor that is
/// compiled for has no such instruction. In double precision the product is exact; a sum that isn't becomes the neighbour
/// with an odd last bit, which says on which side of a float's half the exact sum is (Boldo and Melquiond, "Emulation of a
/// FMA and correctly rounded sums", 2008).
float fused(float x, float y, float z) {
  const double product = static_cast<double>(x) * static_cast<double>(y), addend = z;
  const double sum = product + addend, part = sum - product;
  const double error = (product - (sum - part)) + (addend - part);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (error == 0.0 || (bits & 1U) != 0) return static_cast<float>(sum);
  return static_cast<float>(std::bit_cast<double>((error > 0.0) == (sum > 0.0) ? bits + 1 : bits - 1));
}

/// c[0]·x^n + … + c[n]
template <std::size_t N>
float polynomial(const std::array<float, N>& coefficients, float x) {
  float sum = coefficients[0];
  for (std::size_t i = 1; i < N; ++i) sum = fused(sum, x, coefficients[i]);
  return sum;
}

/// ln x for 0 < x ≤ 1, normal.
float natural_log(float x) {
  static constexpr std::array<float, 9> kSeries = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                                                   -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                                                   2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
  // ln 2 in two parts: the high one has few bits, its product with an exponent is exact.
  static constexpr float kLn2High = 0.693359375f;
  static constexpr float kLn2Low = -2.12194440e-4f;
  static constexpr float kSqrtHalf = 0.70710678f;

  const auto bits = std::bit_cast<std::uint32_t>(x);
  float exponent = static_cast<float>(static_cast<int>(bits >> 23) - 126);
  float m = std::bit_cast<float>((bits & 0x007fffffu) | 0x3f000000u);  // mantissa in [0.5, 1)
  if (m < kSqrtHalf) {
    exponent -= 1.0f;
    m += m;
  }
  m -= 1.0f;
  const float square = m * m;
  float tail = polynomial(kSeries, m) * m;
  tail = fused(tail, square, exponent * kLn2Low);
  tail = fused(-0.5f, square, tail);
  return fused(exponent, kLn2High, m + tail);
}

struct SinCos {
  float sin, cos;
};

/// sin and cos of 0 ≤ x < 2π.
SinCos sin_cos(float x) {
  static constexpr std::array<float, 3> kCos = {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f};
  static constexpr std::array<float, 3> kSin = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
  // π/4 in three parts (Cody–Waite), subtracted one after the other.
  static constexpr std::array<float, 3> kQuarterPi = {0.78515625f, 2.4187564849853515625e-4f, 3.77489497744594108e-8f};

  const int octant = (static_cast<int>(x * 1.27323954473516f) + 1) & ~1;
  for (const float part : kQuarterPi) x = fused(static_cast<float>(octant), -part, x);
  const float square = x * x;
  const float cosine = fused(polynomial(kCos, square) * square, square, -(square * 0.5f)) + 1.0f;
  const float sine = fused(polynomial(kSin, square) * square, x, x);
  const bool swapped = (octant & 2) != 0;
  const float sin_value = swapped ? cosine : sine;
  const float cos_value = swapped ? sine : cosine;
  return {.sin = (octant & 4) != 0 ? -sin_value : sin_value, .cos = ((octant - 2) & 4) == 0 ? -cos_value : cos_value};
}

/// Converts 16 uniforms on [0, 1) to 16 standard normals in place (Box–Muller): with u = 1 − block[i] and t = 2π·block[i +
/// 8], block[i] = √(−2 ln u)·cos t and block[i + 8] = √(−2 ln u)·sin t. ln, sin and cos are rounded exactly as PyTorch's
/// AVX2 build rounds them, so that the bits agree.
void normal_fill_block(std::span<float, kNormalBlock> block) {
  static constexpr float kTwoPi = 6.283185307179586f;
  static constexpr std::size_t kHalf = kNormalBlock / 2;
  for (std::size_t i = 0; i < kHalf; ++i) {
    const float radius = std::sqrt(-2.0f * natural_log(1.0f - block[i]));
    const SinCos angle = sin_cos(kTwoPi * block[i + kHalf]);
    block[i] = radius * angle.cos;
    block[i + kHalf] = radius * angle.sin;
  }
}

/// 53 bits of two draws, the first one on top: torch's random64 of a uniform double.
double uniform_double(std::mt19937& engine) {
  const std::uint64_t high = engine();
  const std::uint64_t bits = high << 32 | engine();
  return static_cast<double>(bits & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53;
}

/// Tensor.uniform_(−bound, bound): rounded once, the multiply-add is fused.
template <typename Uniform>
void fill_uniform(std::vector<float>& values, double bound, Uniform uniform) {
  const float low = static_cast<float>(-bound);
  const float range = static_cast<float>(bound) - low;
  for (float& value : values) value = fused(uniform(), range, low);
}

}  // namespace

TorchRandom::TorchRandom(std::uint64_t seed) : engine_(static_cast<std::uint32_t>(seed)) {}

float TorchRandom::uniform() { return static_cast<float>(engine_() & ((1u << 24) - 1)) * 0x1p-24f; }

double TorchRandom::normal() {
  if (has_next_normal_) {
    has_next_normal_ = false;
    return next_normal_;
  }
  const double angle = 2.0 * std::numbers::pi * uniform_double(engine_);
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform_double(engine_)));
  next_normal_ = radius * std::sin(angle);
  has_next_normal_ = true;
  return radius * std::cos(angle);
}

Tensor TorchRandom::rand(Shape shape) {
  Tensor tensor(std::move(shape));
  for (float& value : tensor.values) value = uniform();
  return tensor;
}

std::int64_t TorchRandom::randint(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(engine_()) % (high - low);
}

Tensor TorchRandom::randn(Shape shape) {
  Tensor tensor(std::move(shape));
  std::vector<float>& values = tensor.values;
  if (values.size() < kNormalBlock) {
    for (float& value : values) value = static_cast<float>(normal());
    return tensor;
  }
  for (float& value : values) value = uniform();
  for (std::size_t start = 0; start + kNormalBlock <= values.size(); start += kNormalBlock) {
    normal_fill_block(std::span<float, kNormalBlock>(values.data() + start, kNormalBlock));
  }
  if (values.size() % kNormalBlock != 0) {
    // The last 16 are drawn again, overwriting finished numbers.
    const std::span<float, kNormalBlock> tail(values.data() + values.size() - kNormalBlock, kNormalBlock);
    for (float& value : tail) value = uniform();
    normal_fill_block(tail);
  }
  return tensor;
}

Linear TorchRandom::linear(std::uint32_t in, std::uint32_t out, bool bias) {
  if (in == 0 || out == 0)
    throw Error("a Linear of {} inputs and {} outputs has no weights: give it at least one of each", in, out);
  const auto draw = [this] { return uniform(); };
  Tensor weight(Shape{out, in}), offsets;
  // kaiming_uniform_ with a = √5: gain √(2/(1 + a²)), standard deviation gain/√in, bound √3 times that, in this order.
  const double root = std::sqrt(static_cast<double>(in));
  const double deviation = std::sqrt(2.0 / (1.0 + std::sqrt(5.0) * std::sqrt(5.0))) / root;
  fill_uniform(weight.values, std::sqrt(3.0) * deviation, draw);
  if (bias) {
    offsets = Tensor(Shape{out});
    fill_uniform(offsets.values, 1.0 / root, draw);
  }
  return {.weight = std::move(weight), .bias = std::move(offsets)};
}

Tensor TorchRandom::embedding(std::uint32_t count, std::uint32_t width) { return randn({count, width}); }

}  // namespace headlight::model
