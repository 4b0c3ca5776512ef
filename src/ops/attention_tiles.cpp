#include "ops/attention_tiles.h"

#include <algorithm>

#include "ops/device_tensor.h"
#include "ops/linear_tiles.h"

namespace headlight::ops {
namespace {

constexpr std::uint32_t kLargeLanes = 256, kLargeRows = 64, kSmallLanes = 64, kSmallRows = 32, kSharedBytes = 10'240;
constexpr std::uint32_t kColumns4 = 16;        // of a workgroup
constexpr std::uint32_t kGroupsPerCore = 4;    // of 64 lanes: one for each of a core's schedulers
constexpr std::uint32_t kFewestPartKeys = 64;  // two tiles: less isn't worth the second dispatch
constexpr std::uint32_t kMostParts = 16;
constexpr std::size_t kMostBytes = std::size_t{16} << 20;

}  // namespace

PartBytes part_bytes(std::uint32_t parts, std::uint32_t rows, std::uint32_t maps, std::uint32_t d_v4) {
  const std::size_t count = std::size_t{parts} * rows * maps;
  return {count * d_v4 * DeviceTensor::kVec4Bytes, count * 2 * sizeof(float)};
}

AttentionTiles choose_attention_tiles(const gpu::DeviceInfo& device, std::uint32_t rows, std::uint32_t maps,
                                      std::uint32_t keys, std::uint32_t d_v4, std::uint32_t most_lanes) {
  const std::uint32_t cores = std::max(device.cores, 1u);
  const std::uint64_t columns = std::uint64_t{maps} * divide_up(d_v4, kColumns4);
  const bool fills_large = most_lanes >= kLargeLanes && divide_up(rows, kLargeRows) * columns >= cores;
  if (fills_large && can_run(device, kLargeLanes, kSharedBytes)) return {kLargeLanes, kLargeRows, 1};
  AttentionTiles tiles{kSmallLanes, kSmallRows, 1};
  const std::uint64_t groups = divide_up(rows, kSmallRows) * columns;
  const std::uint64_t wanted = std::uint64_t{cores} * kGroupsPerCore / groups;
  const std::size_t most_bytes = std::min(kMostBytes, device.max_storage_range);
  const std::uint64_t affordable = most_bytes / std::max<std::size_t>(part_bytes(1, rows, maps, d_v4).sums, 1);
  const std::uint64_t z_limit = device.max_groups[2] / divide_up(d_v4, kColumns4);
  tiles.parts = static_cast<std::uint32_t>(std::max<std::uint64_t>(
      1, std::min<std::uint64_t>({wanted, affordable, z_limit, keys / kFewestPartKeys, kMostParts})));
  return tiles;
}

}  // namespace headlight::ops
