#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "gpu/buffer.h"

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

/// The part of a mask that the user typed or painted and that only kernels compiled at run time know: expressions,
/// painted numbers, documents, dropout of weights.
struct MaskExpressions {
  std::string glsl;             ///< the functions of shaders/lib/expression.glsl
  bool changes_scores = false;  ///< otherwise they hide cells only
  bool has_formulas = false;    ///< that only a kernel can evaluate; the rest functions of the program know as well
  bool drops_weights = false;   ///< dropout after softmax, which kernels alone know as well
};

/// This bit is set in the first word at MaskData::bias_at where the bias is about distances (shaders/lib/score.glsl).
inline constexpr std::uint32_t kDistancesBit = 0x8000'0000u;
/// This bit is set in the same word where the bias is about each key (kOfKeys in that shader).
inline constexpr std::uint32_t kOfKeysBit = 0x4000'0000u;

/// A mask as the kernels read it: the rule as numbers and, in one buffer of words, the key lengths of each batch item and
/// bit planes of cells that are denied or allowed regardless of the rule (shaders/lib/mask.glsl).
struct MaskData {
  bool causal = false;
  std::uint32_t window = 0;
  std::uint32_t prefix = 0;
  bool key_padding = false;
  std::uint32_t deny_at = 0;  ///< word of the table [item, head] of deny planes; 0: none
  std::uint32_t allow_at = 0;
  std::uint32_t planes_at = 0;
  bool has_finite_fill = false;
  float fill = 0.0f;                 ///< only with has_finite_fill
  std::uint32_t bias_at = 0;         ///< word of the position bias (shaders/lib/score.glsl); 0: none
  std::uint32_t expressions_at = 0;  ///< word of what `expressions` read; 0: there are none
  std::shared_ptr<const MaskExpressions> expressions = nullptr;  ///< null: none
  const gpu::Buffer* words = nullptr;
};

}  // namespace headlight::ops
