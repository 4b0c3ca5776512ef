#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headlight::ops {

/// The storage of a packed weight's numbers: single numbers, or ggml's blocks of 32 or 256 of a row. Kernels multiply
/// the float32 that each stands for. Numbers as in shaders/expand_blocks.comp.
enum class WeightType : std::uint8_t { F32, F16, BF16, Q8_0, Q4_0, Q4_K, Q5_K, Q6_K, MXFP4 };
inline constexpr std::size_t kWeightTypes = 9, kPlainWeightTypes = 3;

constexpr bool has_blocks(WeightType type) { return static_cast<std::size_t>(type) >= kPlainWeightTypes; }

struct WeightBlock {
  std::uint32_t numbers = 1, bytes = 4;
};
constexpr WeightBlock block_of(WeightType type) {
  constexpr std::array<WeightBlock, kWeightTypes> kBlocks{
      {{1, 4}, {1, 2}, {1, 2}, {32, 34}, {32, 18}, {256, 144}, {256, 176}, {256, 210}, {32, 17}}};
  return kBlocks[static_cast<std::size_t>(type)];
}

/// Returns the bytes of whole blocks.
constexpr std::size_t bytes_of(WeightType type, std::size_t numbers) {
  return numbers / block_of(type).numbers * block_of(type).bytes;
}

}  // namespace headlight::ops
