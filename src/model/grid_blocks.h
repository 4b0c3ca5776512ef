#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/quantised_blocks.h"

// ggml's blocks whose codes are places in a grid: a table of groups of eight (or four) small numbers, chosen for what groups
// of weights are like. The tables are ggml's (ggml-common.h), in quantised_grids.txt.
namespace headlight::model {

/// quantised_grids.txt: entries of grids in the order of Grid, each of four hexadecimal digits and a space
/// or a line feed. Written by tools/make_format_golden.py.
extern const std::string_view quantised_grids;

/// Entries of a grid: number k of one is `entry >> bits · k`, two bits (three of IQ3) that stand for a level.
enum class Grid : std::uint8_t { IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S, IQ1_S };
/// Parsed once from the program's text.
const std::uint16_t* grid(Grid which);

/// Seven signs, 1 for minus, and an eighth that makes their number even.
inline std::uint32_t even_signs(std::uint32_t seven) {
  return seven | (static_cast<std::uint32_t>(std::popcount(seven)) & 1u) << 7;
}

/// Eight numbers scale · level · sign.
inline void expand_eight(float scale, std::uint32_t entry, std::uint32_t signs, float* to) {
  constexpr std::array<float, 4> kGridLevels{8, 25, 43, 0};
  for (std::uint32_t k = 0; k < 8; ++k) {
    to[k] = scale * kGridLevels[entry >> (2 * k) & 3u] * ((signs >> k & 1u) != 0 ? -1.0F : 1.0F);
  }
}
/// Four numbers of such a product.
inline void expand_four(float scale, std::uint32_t entry, std::uint32_t signs, const std::array<float, 8>& levels,
                        float* to) {
  for (std::uint32_t k = 0; k < 4; ++k) {
    to[k] = scale * levels[entry >> (3 * k) & 7u] * ((signs >> k & 1u) != 0 ? -1.0F : 1.0F);
  }
}
/// Eight numbers scale · (−1, 0 or 1, and 1/8 up or down).
inline void expand_ternary(float scale, std::uint32_t entry, bool is_down, float* to) {
  const float delta = is_down ? -0.125F : 0.125F;
  for (std::uint32_t k = 0; k < 8; ++k) to[k] = scale * (static_cast<float>(entry >> (2 * k) & 3u) - 1.0F + delta);
}

/// Eight groups of 32: four codes of eight bits, four of seven bits for signs, a scale of four bits
struct BlockIQ2_XXS {
  static constexpr std::size_t kNumbers = 256;
  std::uint16_t d;
  std::uint16_t q[32];

  void expand(float* to) const {
    const std::uint16_t* entries = grid(Grid::IQ2_XXS);
    for (std::size_t s = 0; s < 8; ++s) {
      const std::uint32_t codes = q[4 * s] | static_cast<std::uint32_t>(q[4 * s + 1]) << 16;
      const std::uint32_t rest = q[4 * s + 2] | static_cast<std::uint32_t>(q[4 * s + 3]) << 16;
      const float scale = from_half(d) * (0.5F + static_cast<float>(rest >> 28)) * 0.25F;
      for (std::size_t i = 0; i < 4; ++i, to += 8) {
        expand_eight(scale, entries[codes >> (8 * i) & 255u], even_signs(rest >> (7 * i) & 127u), to);
      }
    }
  }
};

/// 32 codes of nine bits with seven for signs; 16 scales of four bits
struct BlockIQ2_XS {
  static constexpr std::size_t kNumbers = 256;
  std::uint16_t d;
  std::uint16_t q[32];
  std::uint8_t scales[8];

  void expand(float* to) const {
    const std::uint16_t* entries = grid(Grid::IQ2_XS);
    for (std::size_t i = 0; i < 32; ++i, to += 8) {
      const float scale = from_half(d) * (0.5F + static_cast<float>(half_byte(scales, i / 2))) * 0.25F;
      expand_eight(scale, entries[q[i] & 511u], even_signs(q[i] >> 9u), to);
    }
  }
};

/// 32 codes of ten bits, eight signs each; 16 scales of four bits
struct BlockIQ2_S {
  static constexpr std::size_t kNumbers = 256;
  std::uint16_t d;
  std::uint8_t q[32];
  std::uint8_t signs[32];
  std::uint8_t high[8];
  std::uint8_t scales[8];

  void expand(float* to) const {
    const std::uint16_t* entries = grid(Grid::IQ2_S);
    for (std::size_t i = 0; i < 32; ++i, to += 8) {
      const float scale = from_half(d) * (0.5F + static_cast<float>(half_byte(scales, i / 2))) * 0.25F;
      const std::uint32_t upper = high[i / 4] >> (2 * (i % 4)) & 3u;
      expand_eight(scale, entries[q[i] | upper << 8], signs[i], to);
    }
  }
};

/// 64 codes of eight bits for four numbers; for eight groups four codes of seven bits for signs and a scale of four
struct BlockIQ3_XXS {
  static constexpr std::size_t kNumbers = 256;
  std::uint16_t d;
  std::uint8_t q[64];
  std::uint16_t scales[16];

  void expand(float* to) const {
    constexpr std::array<float, 8> kNear{4, 12, 20, 28, 36, 44, 52, 62};
    const std::uint16_t* entries = grid(Grid::IQ3_XXS);
    for (std::size_t i = 0; i < 64; ++i, to += 4) {
      const std::size_t s = i / 8;
      const std::uint32_t rest = scales[2 * s] | static_cast<std::uint32_t>(scales[2 * s + 1]) << 16;
      const float scale = from_half(d) * (0.5F + static_cast<float>(rest >> 28)) * 0.5F;
      const std::uint32_t signs = even_signs(rest >> (7 * (i % 8 / 2)) & 127u);
      expand_four(scale, entries[q[i]], signs >> (4 * (i % 2)), kNear, to);
    }
  }
};

/// 64 codes of nine bits for four numbers, their signs; eight scales of four bits
struct BlockIQ3_S {
  static constexpr std::size_t kNumbers = 256;
  std::uint16_t d;
  std::uint8_t q[64];
  std::uint8_t high[8];
  std::uint8_t signs[32];
  std::uint8_t scales[4];

  void expand(float* to) const {
    constexpr std::array<float, 8> kOdd{1, 3, 5, 7, 9, 11, 13, 15};
    const std::uint16_t* entries = grid(Grid::IQ3_S);
    for (std::size_t i = 0; i < 64; ++i, to += 4) {
      const float scale = from_half(d) * static_cast<float>(1 + 2 * half_byte(scales, i / 8));
      expand_four(scale, entries[q[i] | bit(high, i) << 8], static_cast<std::uint32_t>(half_byte(signs, i)), kOdd, to);
    }
  }
};

/// 32 codes of eleven bits, the upper three in `high`, which has for eight groups a scale of three bits and a direction, too
struct BlockIQ1_S {
  static constexpr std::size_t kNumbers = 256;
  std::uint16_t d;
  std::uint8_t q[32];
  std::uint16_t high[8];

  void expand(float* to) const {
    const std::uint16_t* entries = grid(Grid::IQ1_S);
    for (std::size_t i = 0; i < 32; ++i, to += 8) {
      const std::uint32_t upper = high[i / 4];
      const float scale = from_half(d) * static_cast<float>(2 * (upper >> 12 & 7u) + 1);
      expand_ternary(scale, entries[q[i] | (upper >> (3 * (i % 4)) & 7u) << 8], (upper & 0x8000u) != 0, to);
    }
  }
};

/// 32 codes of eleven bits, each with a direction; 16 scales of three bits, and in the upper four bits of each four the
/// digits of d
struct BlockIQ1_M {
  static constexpr std::size_t kNumbers = 256;
  std::uint8_t q[32];
  std::uint8_t high[16];
  std::uint16_t scales[4];

  void expand(float* to) const {
    const std::uint16_t* entries = grid(Grid::IQ1_S);
    std::uint32_t d = 0;
    for (std::uint32_t n = 0; n < 4; ++n) d |= (scales[n] >> 12u) << (4 * n);
    for (std::size_t i = 0; i < 32; ++i, to += 8) {
      const std::uint32_t code = scales[i / 8] >> (3 * (i / 2 % 4)) & 7u;
      const float scale = from_half(static_cast<std::uint16_t>(d)) * static_cast<float>(2 * code + 1);
      const auto upper = static_cast<std::uint32_t>(half_byte(high, i));
      expand_ternary(scale, entries[q[i] | (upper & 7u) << 8], (upper & 8u) != 0, to);
    }
  }
};

}  // namespace headlight::model
