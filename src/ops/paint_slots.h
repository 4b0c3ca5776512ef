#pragma once

#include <cstdint>

namespace headlight::ops {

/// The hash by which painted cells are found (shaders/lib/paint.glsl has the same): of (query + seed, key) for a cell's
/// first slot, of (key + seed, query) for its second.
constexpr std::uint32_t paint_hash(std::uint32_t a, std::uint32_t b) {
  std::uint32_t h = (a * 0x9e3779b1u) ^ (b * 0x85ebca77u);
  h = (h ^ (h >> 15)) * 0x2c1b3c6du;
  h = (h ^ (h >> 12)) * 0x297a2d39u;
  return h ^ (h >> 15);
}

/// The slot of a hash among `slots`.
constexpr std::uint32_t paint_slot(std::uint32_t hash, std::uint32_t slots) {
  return static_cast<std::uint32_t>((std::uint64_t{hash} * slots) >> 32);
}

}  // namespace headlight::ops
