#pragma once

#include <span>

namespace headlight::model {

/// PyTorch draws large normals in blocks of this many numbers.
inline constexpr std::size_t kNormalBlock = 16;

/// Converts 16 uniforms on [0, 1) to 16 standard normals in place (Box–Muller): with u = 1 − block[i] and t = 2π·block[i +
/// 8], block[i] = √(−2 ln u)·cos t and block[i + 8] = √(−2 ln u)·sin t. ln, sin and cos are rounded exactly as PyTorch's
/// AVX2 build rounds them, so that the bits agree.
void normal_fill_block(std::span<float, kNormalBlock> block);

}  // namespace headlight::model
