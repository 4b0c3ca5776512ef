#include "ops/linear_tiles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/device_tensor.h"

namespace headlight::ops {
namespace {

/// The tiles of linear_tiled.comp, with the share of multiply-adds among the instructions of their inner loop: machine code
/// for AMD's navi21 (docs/BENCHMARKS.md, "Machine code").
struct Tile {
  std::uint32_t lanes, rows, bands, shared_bytes;
  double share;
};
constexpr std::array<Tile, 3> kTiles{{{64, 16, 1, 5'376, 0.61}, {128, 64, 1, 8'448, 0.78}, {256, 128, 2, 16'640, 0.85}}};

// The model counts multiply-adds of one lane after another, on a core that needs kCoreLanes to be busy: four subgroups of 64
// on AMD, eight of 32 on NVIDIA.
constexpr double kCoreLanes = 256.0;
constexpr double kStart = 32.0;              // inner steps that pass before the first multiply-add and after the last
constexpr double kDispatch = 4'000.0;        // a second dispatch and its barrier: some 4 µs at 1 GHz
constexpr double kStoredNumber = 64.0;       // writing and reading a partial sum
constexpr std::uint32_t kFewestInner4 = 32;  // of a part
constexpr std::size_t kMostSplitBytes = std::size_t{16} << 20;

double modelled_time(const gpu::DeviceInfo& device, const Tile& tile, std::uint32_t parts, std::uint32_t rows,
                     std::uint32_t bands, std::uint32_t inner4) {
  const double groups = static_cast<double>(divide_up(rows, tile.rows)) * divide_up(bands, tile.bands) * parts;
  const double rounds = std::ceil(groups * tile.lanes / (kCoreLanes * std::max(device.cores, 1u)));
  const double results = 64.0 * tile.rows * tile.bands / tile.lanes;
  const double time = rounds * results / tile.share * (4.0 * inner4 / parts + kStart);
  if (parts == 1) return time;
  const double sums = 64.0 * rows * bands * parts;
  return time + kDispatch + sums * kStoredNumber / (kCoreLanes * std::max(device.cores, 1u));
}

}  // namespace

bool can_run(const gpu::DeviceInfo& device, std::uint32_t lanes, std::uint32_t shared_bytes) {
  return device.max_invocations >= lanes && device.shared_memory_bytes >= shared_bytes;
}

std::size_t split_bytes(std::uint32_t parts, std::uint32_t rows, std::uint32_t bands) {
  return std::size_t{parts} * rows * bands * 64 * sizeof(float);
}

LinearTiles choose_tiles(const gpu::DeviceInfo& device, std::uint32_t rows, std::uint32_t bands, std::uint32_t inner4,
                         const LinearTileLimits& limits) {
  constexpr std::uint32_t kSlice4 = 4;  // of linear_tiled.comp
  LinearTiles best;
  double best_time = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    if (tile.lanes > limits.lanes || !can_run(device, tile.lanes, tile.shared_bytes)) continue;
    for (std::uint32_t parts = 1; parts <= limits.parts; ++parts) {
      const std::uint32_t split4 = divide_up(divide_up(inner4, parts), kSlice4) * kSlice4;
      if (parts > 1 && (split4 < kFewestInner4 || divide_up(inner4, split4) != parts)) continue;
      if (parts > 1 && split_bytes(parts, rows, bands) > std::min(kMostSplitBytes, device.max_storage_range)) continue;
      const double time = modelled_time(device, tile, parts, rows, bands, inner4);
      if (time >= best_time) continue;
      best_time = time;
      best = {tile.lanes, tile.rows, tile.bands, parts, parts == 1 ? inner4 : split4};
    }
  }
  return best;
}

}  // namespace headlight::ops
