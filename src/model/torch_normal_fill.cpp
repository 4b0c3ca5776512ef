#include "model/torch_normal_fill.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

// PyTorch evaluates ln, sin and cos here with single-precision polynomials (the minimax coefficients of Moshier's Cephes
// library, logf.c and sinf.c) and fused multiply-adds. A correctly rounded libm differs from them in one value out of seven,
// by up to 4.8e-7; therefore the same polynomials, with every rounding written out. This file must be compiled with
// -ffp-contract=off: a fused operation more or less changes bits.
namespace headlight::model {
namespace {

/// c[0]·x^n + … + c[n]
template <std::size_t N>
float polynomial(const std::array<float, N>& coefficients, float x) {
  float sum = coefficients[0];
  for (std::size_t i = 1; i < N; ++i) sum = std::fma(sum, x, coefficients[i]);
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
  tail = std::fma(tail, square, exponent * kLn2Low);
  tail = std::fma(-0.5f, square, tail);
  return std::fma(exponent, kLn2High, m + tail);
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
  for (const float part : kQuarterPi) x = std::fma(static_cast<float>(octant), -part, x);
  const float square = x * x;
  const float cosine = std::fma(polynomial(kCos, square) * square, square, -(square * 0.5f)) + 1.0f;
  const float sine = std::fma(polynomial(kSin, square) * square, x, x);
  const bool swapped = (octant & 2) != 0;
  const float sin_value = swapped ? cosine : sine;
  const float cos_value = swapped ? sine : cosine;
  return {.sin = (octant & 4) != 0 ? -sin_value : sin_value, .cos = ((octant - 2) & 4) == 0 ? -cos_value : cos_value};
}

}  // namespace

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

}  // namespace headlight::model
