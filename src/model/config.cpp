#include "model/config.h"

#include <array>
#include <cmath>

namespace headlight::model {

float Scale::factor(std::uint32_t d_k) const {
  if (kind == Kind::InverseSqrtKey) return static_cast<float>(1.0 / std::sqrt(static_cast<double>(d_k)));
  return kind == Kind::None ? 1.0f : value;
}

std::string_view to_string(BlockKind kind) {
  constexpr std::array<std::string_view, kBlockKinds> kNames = {"encoder", "decoder", "cross"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace headlight::model
