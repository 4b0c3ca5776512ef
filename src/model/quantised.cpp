#include "model/quantised.h"

#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>

#include "core/half.h"
#include "core/processor.h"

// Layouts of ggml's blocks (ggml-common.h of github.com/ggml-org/ggml). d and d_min are binary16; q are the stored codes.
namespace headlight::model {
namespace {

/// x = d · q
struct BlockQ8_0 {
  std::uint16_t d;
  std::int8_t q[32];
};
/// x = d · (q − 8); the low four bits of byte j are number j, the high ones number j + 16
struct BlockQ4_0 {
  std::uint16_t d;
  std::uint8_t q[16];
};
/// x = d · scale[s] · q − d_min · min[s] for eight groups s of 32; scales and mins have six bits
struct BlockQ4_K {
  std::uint16_t d, d_min;
  std::uint8_t scales[12];
  std::uint8_t q[128];
};
/// x = d · scale[s] · (q − 32) for 16 groups s of 16; q has four low bits in `low` and two in `high`
struct BlockQ6_K {
  std::uint8_t low[128];
  std::uint8_t high[64];
  std::int8_t scales[16];
  std::uint16_t d;
};
static_assert(sizeof(BlockQ8_0) == 34 && sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_K) == 144 && sizeof(BlockQ6_K) == 210);

inline void expand(const BlockQ8_0& block, float* to) {
  const float d = from_half(block.d);
  for (int i = 0; i < 32; ++i) to[i] = d * static_cast<float>(block.q[i]);
}

inline void expand(const BlockQ4_0& block, float* to) {
  const float d = from_half(block.d);
  for (int i = 0; i < 16; ++i) {
    to[i] = d * static_cast<float>((block.q[i] & 15) - 8);
    to[i + 16] = d * static_cast<float>((block.q[i] >> 4) - 8);
  }
}

inline void expand(const BlockQ4_K& block, float* to) {
  const float d = from_half(block.d), d_min = from_half(block.d_min);
  // Groups 0–3 have their six bits in bytes 0–3 (scale) and 4–7 (min). Groups 4–7 have four bits of each in bytes 8–11 and
  // the two upper ones above those of groups 0–3.
  std::array<float, 8> scale{}, min{};
  for (std::size_t s = 0; s < 4; ++s) {
    const std::uint32_t a = block.scales[s], b = block.scales[s + 4], c = block.scales[s + 8];
    scale[s] = d * static_cast<float>(a & 63u);
    min[s] = d_min * static_cast<float>(b & 63u);
    scale[s + 4] = d * static_cast<float>((c & 15u) | ((a >> 6) << 4));
    min[s + 4] = d_min * static_cast<float>((c >> 4) | ((b >> 6) << 4));
  }
  for (std::size_t pair = 0; pair < 4; ++pair) {
    const std::uint8_t* q = block.q + 32 * pair;
    float* out = to + 64 * pair;
    for (std::size_t i = 0; i < 32; ++i) {
      out[i] = scale[2 * pair] * static_cast<float>(q[i] & 15) - min[2 * pair];
      out[i + 32] = scale[2 * pair + 1] * static_cast<float>(q[i] >> 4) - min[2 * pair + 1];
    }
  }
}

inline void expand(const BlockQ6_K& block, float* to) {
  const float d = from_half(block.d);
  for (std::size_t half = 0; half < 2; ++half) {
    const std::uint8_t* low = block.low + 64 * half;
    const std::uint8_t* high = block.high + 32 * half;
    float* out = to + 128 * half;
    for (std::size_t group = 0; group < 2; ++group) {
      std::array<float, 4> scale{};
      for (std::size_t part = 0; part < 4; ++part) {
        scale[part] = d * static_cast<float>(block.scales[8 * half + 2 * part + group]);
      }
      for (std::size_t i = 16 * group; i < 16 * group + 16; ++i) {
        out[i] = scale[0] * static_cast<float>(((low[i] & 15) | ((high[i] & 3) << 4)) - 32);
        out[i + 32] = scale[1] * static_cast<float>(((low[i + 32] & 15) | ((high[i] & 12) << 2)) - 32);
        out[i + 64] = scale[2] * static_cast<float>(((low[i] >> 4) | (high[i] & 48)) - 32);
        out[i + 96] = scale[3] * static_cast<float>(((low[i + 32] >> 4) | ((high[i] & 192) >> 2)) - 32);
      }
    }
  }
}

template <typename Block>
inline void expand_all(const std::byte* from, std::size_t blocks, std::size_t numbers, float* to) {
  for (std::size_t i = 0; i < blocks; ++i) {
    // The file aligns tensors, not blocks.
    Block block;
    std::memcpy(&block, from + i * sizeof(Block), sizeof(Block));
    expand(block, to + i * numbers);
  }
}

inline void expand_type(ElementType type, const std::byte* from, std::size_t blocks, float* to) {
  const std::size_t numbers = block_numbers(type);
  if (type == ElementType::Q8_0) expand_all<BlockQ8_0>(from, blocks, numbers, to);
  if (type == ElementType::Q4_0) expand_all<BlockQ4_0>(from, blocks, numbers, to);
  if (type == ElementType::Q4_K) expand_all<BlockQ4_K>(from, blocks, numbers, to);
  if (type == ElementType::Q6_K) expand_all<BlockQ6_K>(from, blocks, numbers, to);
}

#if HEADLIGHT_AVX2
/// The same loops once more, compiled for wider vectors. No fused multiply-add: it would round differently.
HEADLIGHT_AVX2_TARGET __attribute__((flatten)) void expand_type_avx2(ElementType type, const std::byte* from,
                                                                     std::size_t blocks, float* to) {
  expand_type(type, from, blocks, to);
}
#endif

}  // namespace

void decode_quantised(ElementType type, const std::byte* from, std::size_t count, float* to) {
  assert(block_numbers(type) > 1 && count % block_numbers(type) == 0);
  const std::size_t blocks = count / block_numbers(type);
#if HEADLIGHT_AVX2
  if (has_avx2()) return expand_type_avx2(type, from, blocks, to);
#endif
  expand_type(type, from, blocks, to);
}

}  // namespace headlight::model
