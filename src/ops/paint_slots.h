#pragma once

#include <array>
#include <cstdint>

namespace headlight::ops {

/// A hash of two numbers; paint_hashes() has its arguments.
constexpr std::uint32_t paint_hash(std::uint32_t a, std::uint32_t b) {
  std::uint32_t h = (a * 0x9e3779b1u) ^ (b * 0x85ebca77u);
  h = (h ^ (h >> 15)) * 0x2c1b3c6du;
  h = (h ^ (h >> 12)) * 0x297a2d39u;
  return h ^ (h >> 15);
}

/// The hashes of a painted cell's two slots (shaders/lib/paint.glsl has the same). The second one is of ~query: were it of
/// (key + seed, query), cells that mirror each other at the diagonal would share both slots and the diagonal's own have one.
constexpr std::array<std::uint32_t, 2> paint_hashes(std::uint32_t query, std::uint32_t key, std::uint32_t seed) {
  return {paint_hash(query + seed, key), paint_hash(key + seed, ~query)};
}

/// The slot of a hash among `slots`.
constexpr std::uint32_t paint_slot(std::uint32_t hash, std::uint32_t slots) {
  return static_cast<std::uint32_t>((std::uint64_t{hash} * slots) >> 32);
}

}  // namespace headlight::ops
