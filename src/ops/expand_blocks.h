#pragma once

#include "gpu/stream.h"
#include "ops/kernels.h"
#include "ops/packed_linear.h"

namespace headlight::ops {

/// Blocks that are expanded at a time take so much as float32, or one tile.
inline constexpr std::size_t kMostExpandedBytes = std::size_t{32} << 20;

/// Tiles of a run. With a `routing` (ops/experts.h) of so many pairs those of experts without a token are left out.
struct ExpandedTiles {
  std::uint32_t first_tile = 0, tiles = 0;
  std::uint32_t expert_tiles = 0, experts = 0, pairs = 0;
  const gpu::Buffer* routing = nullptr;
};

/// Tiles of a weight of blocks as the float32 [tile, input, 64] that linear kernels read.
void expand_blocks(gpu::Stream& stream, Kernels& kernels, const PackedLinear& weight, const PackedLinear::Run& run,
                   const ExpandedTiles& of, const gpu::Slice& to);

}  // namespace headlight::ops
