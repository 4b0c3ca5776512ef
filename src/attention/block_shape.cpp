#include "attention/block_shape.h"

namespace headlight::attention {

std::optional<BlockShape::Extent> BlockShape::extent(Stage stage) const {
  switch (stage) {
    case Stage::X:
      return has_input ? std::optional<Extent>({queries, d_model}) : std::nullopt;
    case Stage::Q:
      return Extent{queries, d_k};
    case Stage::K:
      return Extent{keys, d_k};
    case Stage::V:
      return Extent{keys, d_v};
    case Stage::Scores:
    case Stage::Scaled:
    case Stage::Masked:
    case Stage::Weights:
      return Extent{queries, keys};
    case Stage::Heads:
      return Extent{queries, d_v};
    case Stage::Merged:
      return Extent{queries, d_merged};
    case Stage::Output:
      return d_output > 0 ? std::optional<Extent>({queries, d_output}) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace headlight::attention
