#pragma once

#include <cstdint>

#include "gpu/device_info.h"

namespace headlight::ops {

/// How attention_tiled.comp divides its work among workgroups.
struct AttentionTiles {
  std::uint32_t lanes = 64;  ///< of a workgroup, which decide the next
  std::uint32_t rows = 32;   ///< queries of a workgroup
  std::uint32_t parts = 1;   ///< into which the keys are split; their results are merged by attention_merge.comp

  bool operator==(const AttentionTiles&) const = default;
};

/// For `rows` queries of each of `maps` heads and batch items and for `keys` keys, with values of `d_v4` vec4: large tiles
/// where they give every core of the device something to do, else small ones, and parts of the keys where those are too few
/// as well. Of at most `most_lanes`, of which there are kernels.
AttentionTiles choose_attention_tiles(const gpu::DeviceInfo& device, std::uint32_t rows, std::uint32_t maps,
                                      std::uint32_t keys, std::uint32_t d_v4, std::uint32_t most_lanes = 256);

/// Bytes of the parts' sums between attention_tiled.comp and attention_merge.comp, and of their (m, l) pairs.
struct PartBytes {
  std::size_t sums = 0, stats = 0;
};
PartBytes part_bytes(std::uint32_t parts, std::uint32_t rows, std::uint32_t maps, std::uint32_t d_v4);

}  // namespace headlight::ops
