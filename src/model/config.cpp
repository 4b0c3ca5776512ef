#include "model/config.h"

#include <cmath>

namespace headlight::model {

float Scale::factor(std::uint32_t d_k) const {
  switch (kind) {
    case Kind::InverseSqrtKey:
      return static_cast<float>(1.0 / std::sqrt(static_cast<double>(d_k)));
    case Kind::None:
      return 1.0f;
    case Kind::Value:
      return value;
  }
  return 1.0f;
}

std::string_view to_string(BlockKind kind) {
  switch (kind) {
    case BlockKind::EncoderSelf:
      return "encoder";
    case BlockKind::DecoderSelf:
      return "decoder";
    case BlockKind::Cross:
      return "cross";
  }
  return "";
}

}  // namespace headlight::model
