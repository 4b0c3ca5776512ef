#pragma once

#include <cstdint>

#include "gpu/device_info.h"

namespace headlight::ops {

/// How linear_tiled.comp divides a layer among workgroups.
struct LinearTiles {
  std::uint32_t lanes = 64;  ///< of a workgroup, which decide the two below
  std::uint32_t rows = 16;   ///< that a workgroup computes …
  std::uint32_t bands = 1;   ///< … of so many times 64 columns
  std::uint32_t parts = 1;   ///< into which the inner axis is split; their sums are added by linear_sum.comp
  std::uint32_t split4 = 0;  ///< vec4 of the inner axis in a part

  bool operator==(const LinearTiles&) const = default;
};

/// What is left to choose from where the driver refuses kernels.
struct LinearTileLimits {
  std::uint32_t lanes = 256, parts = 8;
};

/// The division that a model of the device's time calls the fastest, for `rows` of x, `bands` times 64 columns of y and
/// `inner4` vec4 of the inner axis (none of them 0): large tiles read less and small ones, or parts of the inner axis, give
/// every core something to do.
LinearTiles choose_tiles(const gpu::DeviceInfo& device, std::uint32_t rows, std::uint32_t bands, std::uint32_t inner4,
                         const LinearTileLimits& limits = {});

/// Bytes of the sums between linear_tiled.comp and linear_sum.comp.
std::size_t split_bytes(std::uint32_t parts, std::uint32_t rows, std::uint32_t bands);

/// Can the device run a workgroup of so many lanes with so many bytes of shared memory?
bool can_run(const gpu::DeviceInfo& device, std::uint32_t lanes, std::uint32_t shared_bytes);

}  // namespace headlight::ops
