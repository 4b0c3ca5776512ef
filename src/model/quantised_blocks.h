#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/half.h"

// Layouts of ggml's blocks (ggml-common.h of github.com/ggml-org/ggml) and what their numbers are: bit for bit those of the
// Python package gguf. d, d_min and m are binary16; q are the stored codes. Those that look numbers up in a grid are in
// grid_blocks.h.
namespace headlight::model {

/// Code number `at` of `bits` bits of a group whose bytes hold one code of each 32 numbers: `bytes[i % 32] >> bits · (i /
/// 32)`.
inline int layered(const std::uint8_t* bytes, std::size_t at, unsigned bits) {
  return (bytes[at % 32] >> (bits * (at / 32))) & ((1 << bits) - 1);
}
/// Calls use(i, code) for 32 codes of four bits: the low halves of 16 bytes, then their high halves.
template <typename Use>
inline void for_each_nibble(const std::uint8_t* bytes, const Use& use) {
  for (std::size_t i = 0; i < 16; ++i) use(i, bytes[i] & 15);
  for (std::size_t i = 0; i < 16; ++i) use(i + 16, bytes[i] >> 4);
}
/// Bit number `at` of a row of bytes; four bits number `at`, low half first.
inline int bit(const std::uint8_t* bytes, std::size_t at) { return (bytes[at / 8] >> (at % 8)) & 1; }
inline int half_byte(const std::uint8_t* bytes, std::size_t at) { return (bytes[at / 2] >> (4 * (at % 2))) & 15; }

// NOLINTBEGIN(readability-identifier-naming): the blocks' own names

/// x = d · q
struct BlockQ8_0 {
  static constexpr std::size_t kNumbers = 32;
  std::uint16_t d;
  std::int8_t q[32];

  void expand(float* to) const {
    const float scale = from_half(d);
    for (std::size_t i = 0; i < kNumbers; ++i) to[i] = scale * static_cast<float>(q[i]);
  }
};

/// x = d · (q − 8); the low four bits of byte j are number j, the high ones number j + 16
struct BlockQ4_0 {
  static constexpr std::size_t kNumbers = 32;
  std::uint16_t d;
  std::uint8_t q[16];

  void expand(float* to) const {
    const float scale = from_half(d);
    for_each_nibble(q, [&](std::size_t i, int code) { to[i] = scale * static_cast<float>(code - 8); });
  }
};

/// x = d · q + m
struct BlockQ4_1 {
  static constexpr std::size_t kNumbers = 32;
  std::uint16_t d, m;
  std::uint8_t q[16];

  void expand(float* to) const {
    const float scale = from_half(d), offset = from_half(m);
    for_each_nibble(q, [&](std::size_t i, int code) { to[i] = scale * static_cast<float>(code) + offset; });
  }
};

/// x = d · (q − 16); `high` has the fifth bits
struct BlockQ5_0 {
  static constexpr std::size_t kNumbers = 32;
  std::uint16_t d;
  std::uint8_t high[4];
  std::uint8_t q[16];

  void expand(float* to) const {
    const float scale = from_half(d);
    for_each_nibble(q,
                    [&](std::size_t i, int code) { to[i] = scale * static_cast<float>((code | bit(high, i) << 4) - 16); });
  }
};

/// x = d · q + m
struct BlockQ5_1 {
  static constexpr std::size_t kNumbers = 32;
  std::uint16_t d, m;
  std::uint8_t high[4];
  std::uint8_t q[16];

  void expand(float* to) const {
    const float scale = from_half(d), offset = from_half(m);
    for_each_nibble(q,
                    [&](std::size_t i, int code) { to[i] = scale * static_cast<float>(code | bit(high, i) << 4) + offset; });
  }
};

/// x = d · scale[s] · q − d_min · min[s] for 16 groups s of 16; scale and min are the halves of a byte
struct BlockQ2_K {
  static constexpr std::size_t kNumbers = 256;
  std::uint8_t scales[16];
  std::uint8_t q[64];
  std::uint16_t d, d_min;

  void expand(float* to) const {
    for (std::size_t s = 0; s < 16; ++s) {
      const float scale = from_half(d) * static_cast<float>(scales[s] & 15);
      const float min = from_half(d_min) * static_cast<float>(scales[s] >> 4);
      for (std::size_t i = 16 * s; i < 16 * s + 16; ++i) {
        to[i] = scale * static_cast<float>(layered(q + i / 128 * 32, i % 128, 2)) - min;
      }
    }
  }
};

/// x = d · (scale[s] − 32) · (q − 4) for 16 groups s of 16; `high` has the third bits, scales have six bits
struct BlockQ3_K {
  static constexpr std::size_t kNumbers = 256;
  std::uint8_t high[32];
  std::uint8_t q[64];
  std::uint8_t scales[12];
  std::uint16_t d;

  void expand(float* to) const {
    for (std::size_t s = 0; s < 16; ++s) {
      const int low = s < 8 ? scales[s] & 15 : scales[s - 8] >> 4, upper = (scales[8 + s % 4] >> (2 * (s / 4))) & 3;
      const float scale = from_half(d) * static_cast<float>((low | upper << 4) - 32);
      for (std::size_t i = 16 * s; i < 16 * s + 16; ++i) {
        const int code = layered(q + i / 128 * 32, i % 128, 2) | layered(high, i, 1) << 2;
        to[i] = scale * static_cast<float>(code - 4);
      }
    }
  }
};

/// Scales and mins of eight groups, six bits each. Groups 0–3 have them in bytes 0–3 (scale) and 4–7 (min). Groups 4–7 have
/// four bits of each in bytes 8–11 and the two upper ones above those of groups 0–3.
struct GroupScales {
  std::array<float, 8> scale{}, min{};

  GroupScales(const std::uint8_t* bytes, float d, float d_min) {
    for (std::size_t s = 0; s < 4; ++s) {
      const std::uint32_t a = bytes[s], b = bytes[s + 4], c = bytes[s + 8];
      scale[s] = d * static_cast<float>(a & 63u);
      min[s] = d_min * static_cast<float>(b & 63u);
      scale[s + 4] = d * static_cast<float>((c & 15u) | ((a >> 6) << 4));
      min[s + 4] = d_min * static_cast<float>((c >> 4) | ((b >> 6) << 4));
    }
  }
};

/// x = d · scale[s] · q − d_min · min[s] for eight groups s of 32; scales and mins have six bits
struct BlockQ4_K {
  static constexpr std::size_t kNumbers = 256;
  std::uint16_t d, d_min;
  std::uint8_t scales[12];
  std::uint8_t q[128];

  void expand(float* to) const {
    const GroupScales group(scales, from_half(d), from_half(d_min));
    for (std::size_t pair = 0; pair < 4; ++pair) {
      for (std::size_t i = 0; i < 32; ++i) {
        const std::uint8_t both = q[32 * pair + i];
        to[64 * pair + i] = group.scale[2 * pair] * static_cast<float>(both & 15) - group.min[2 * pair];
        to[64 * pair + 32 + i] = group.scale[2 * pair + 1] * static_cast<float>(both >> 4) - group.min[2 * pair + 1];
      }
    }
  }
};

/// The same with fifth bits in `high`
struct BlockQ5_K {
  static constexpr std::size_t kNumbers = 256;
  std::uint16_t d, d_min;
  std::uint8_t scales[12];
  std::uint8_t high[32];
  std::uint8_t q[128];

  void expand(float* to) const {
    const GroupScales group(scales, from_half(d), from_half(d_min));
    for (std::size_t s = 0; s < 8; ++s) {
      for (std::size_t i = 0; i < 32; ++i) {
        const int code = layered(q + s / 2 * 32, s % 2 * 32 + i, 4) | layered(high, 32 * s + i, 1) << 4;
        to[32 * s + i] = group.scale[s] * static_cast<float>(code) - group.min[s];
      }
    }
  }
};

/// x = d · scale[s] · (q − 32) for 16 groups s of 16; q has four low bits in `low` and two in `high`
struct BlockQ6_K {
  static constexpr std::size_t kNumbers = 256;
  std::uint8_t low[128];
  std::uint8_t high[64];
  std::int8_t scales[16];
  std::uint16_t d;

  void expand(float* to) const {
    const float scale_of_all = from_half(d);
    for (std::size_t half = 0; half < 2; ++half) {
      const std::uint8_t* four = low + 64 * half;
      const std::uint8_t* two = high + 32 * half;
      float* out = to + 128 * half;
      for (std::size_t group = 0; group < 2; ++group) {
        std::array<float, 4> scale{};
        for (std::size_t part = 0; part < 4; ++part) {
          scale[part] = scale_of_all * static_cast<float>(scales[8 * half + 2 * part + group]);
        }
        for (std::size_t i = 16 * group; i < 16 * group + 16; ++i) {
          out[i] = scale[0] * static_cast<float>(((four[i] & 15) | ((two[i] & 3) << 4)) - 32);
          out[i + 32] = scale[1] * static_cast<float>(((four[i + 32] & 15) | ((two[i] & 12) << 2)) - 32);
          out[i + 64] = scale[2] * static_cast<float>(((four[i] >> 4) | (two[i] & 48)) - 32);
          out[i + 96] = scale[3] * static_cast<float>(((four[i + 32] >> 4) | ((two[i] & 192) >> 2)) - 32);
        }
      }
    }
  }
};

/// x = d · (digit − 1); a byte holds five digits to the base 3 as the fraction of 256 that they are of 3⁵: digit n is the
/// whole part of three times what is left after n multiplications by 3
struct BlockTQ1_0 {
  static constexpr std::size_t kNumbers = 256;
  std::uint8_t q[48];
  std::uint8_t last[4];
  std::uint16_t d;

  void expand(float* to) const {
    to = expand(q, 32, 5, to);
    to = expand(q + 32, 16, 5, to);
    expand(last, 4, 4, to);
  }

 private:
  float* expand(const std::uint8_t* bytes, std::size_t count, std::size_t digits, float* to) const {
    constexpr std::array<unsigned, 5> kPowers{1, 3, 9, 27, 81};
    for (std::size_t digit = 0; digit < digits; ++digit) {
      for (std::size_t i = 0; i < count; ++i) {
        const int code = static_cast<int>(((bytes[i] * kPowers[digit]) & 255u) * 3 >> 8);
        *to++ = from_half(d) * static_cast<float>(code - 1);
      }
    }
    return to;
  }
};

/// x = d · (q − 1)
struct BlockTQ2_0 {
  static constexpr std::size_t kNumbers = 256;
  std::uint8_t q[64];
  std::uint16_t d;

  void expand(float* to) const {
    const float scale = from_half(d);
    for (std::size_t i = 0; i < kNumbers; ++i) {
      to[i] = scale * static_cast<float>(layered(q + i / 128 * 32, i % 128, 2) - 1);
    }
  }
};

/// The numbers of FP4 (E2M1) times two.
inline constexpr std::array<float, 16> kFp4{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
/// The 16 levels of the non-linear types.
inline constexpr std::array<float, 16> kLevels{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/// x = 2^(e − 128) · fp4(q): the Microscaling formats' MXFP4
struct BlockMXFP4 {
  static constexpr std::size_t kNumbers = 32;
  std::uint8_t e;
  std::uint8_t q[16];

  void expand(float* to) const {
    // Halves of powers of two; the least two are subnormal.
    const float scale = std::bit_cast<float>(e < 2 ? 0x00200000u << e : static_cast<std::uint32_t>(e - 1) << 23);
    for_each_nibble(q, [&](std::size_t i, int code) { to[i] = scale * kFp4[static_cast<std::size_t>(code)]; });
  }
};

/// x = scale[s] / 2 · fp4(q) for four groups s of 16; scales are E4M3 without a sign
struct BlockNVFP4 {
  static constexpr std::size_t kNumbers = 64;
  std::uint8_t scales[4];
  std::uint8_t q[32];

  void expand(float* to) const {
    for (std::size_t s = 0; s < 4; ++s) {
      const float scale = half_of(scales[s]);
      for (std::size_t i = 0; i < 8; ++i) {
        to[16 * s + i] = scale * kFp4[q[8 * s + i] & 15u];
        to[16 * s + 8 + i] = scale * kFp4[q[8 * s + i] >> 4u];
      }
    }
  }

 private:
  static float half_of(std::uint8_t bits) {
    constexpr std::uint8_t kNaN = 0x7f;
    const std::uint32_t exponent = bits >> 3 & 15u, fraction = bits & 7u;
    if (bits == kNaN) return 0.0F;
    if (exponent == 0) return static_cast<float>(fraction) * 0x1p-10F;
    return std::bit_cast<float>((exponent + 127 - 8) << 23 | fraction << 20);
  }
};

/// x = d · level[q]
struct BlockIQ4_NL {
  static constexpr std::size_t kNumbers = 32;
  std::uint16_t d;
  std::uint8_t q[16];

  void expand(float* to) const {
    const float scale = from_half(d);
    for_each_nibble(q, [&](std::size_t i, int code) { to[i] = scale * kLevels[static_cast<std::size_t>(code)]; });
  }
};

/// x = d · (scale[s] − 32) · level[q] for eight groups s of 32; scales have four bits in `low` and two in `high`
struct BlockIQ4_XS {
  static constexpr std::size_t kNumbers = 256;
  std::uint16_t d, high;
  std::uint8_t low[4];
  std::uint8_t q[128];

  void expand(float* to) const {
    for (std::size_t s = 0; s < 8; ++s) {
      const int code = half_byte(low, s) | ((high >> (2 * s)) & 3) << 4;
      const float scale = from_half(d) * static_cast<float>(code - 32);
      for_each_nibble(q + 16 * s,
                      [&](std::size_t i, int level) { to[32 * s + i] = scale * kLevels[static_cast<std::size_t>(level)]; });
    }
  }
};

// NOLINTEND(readability-identifier-naming)

}  // namespace headlight::model
