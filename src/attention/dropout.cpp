#include "attention/dropout.h"

namespace headlight::attention {
namespace {

/// A bijection whose every output bit depends on every input bit: multiplications by odd constants between shifts.
std::uint32_t mix(std::uint32_t h) {
  h ^= h >> 16;
  h *= 0x7feb352dU;
  h ^= h >> 15;
  h *= 0x846ca68bU;
  return h ^ h >> 16;
}

std::uint32_t fold(std::uint32_t h, std::uint32_t x) { return mix(h + 0x9e3779b9U * (x + 1)); }

}  // namespace

float DropoutPlan::factor_of(std::uint32_t item, std::uint32_t head, std::uint32_t row, std::uint32_t column) const {
  return fold(fold(fold(fold(key, item), head), row), column) < threshold ? 0.0f : factor;
}

DropoutPlan dropout_plan(float probability, std::uint32_t seed, model::Site site, model::BlockRef block) {
  std::uint32_t key = fold(mix(seed), static_cast<std::uint32_t>(site));
  key = fold(fold(key, static_cast<std::uint32_t>(block.kind)), block.layer.value);
  return {.key = key,
          .threshold = static_cast<std::uint32_t>(static_cast<double>(probability) * 0x1p32),
          .factor = 1.0f / (1.0f - probability)};
}

}  // namespace headlight::attention
