#include "attention/block_shape.h"

namespace headlight::attention {

std::optional<BlockShape::Extent> BlockShape::extent(Stage stage) const {
  switch (stage) {
    case Stage::X:
      return has_input ? std::optional<Extent>({queries, d_model}) : std::nullopt;
    case Stage::Q:
      return only_weights ? std::nullopt : std::optional<Extent>({queries, d_k});
    case Stage::K:
      return only_weights ? std::nullopt : std::optional<Extent>({keys, d_k});
    case Stage::V:
      return has_values ? std::optional<Extent>({keys, d_v}) : std::nullopt;
    case Stage::Scores:
    case Stage::Scaled:
    case Stage::Masked:
      return only_weights ? std::nullopt : std::optional<Extent>({queries, keys});
    case Stage::Weights:
      return Extent{queries, keys};
    case Stage::Heads:
      return has_values ? std::optional<Extent>({queries, d_v}) : std::nullopt;
    case Stage::Merged:
      return has_values ? std::optional<Extent>({queries, d_merged}) : std::nullopt;
    case Stage::Output:
      return d_output > 0 ? std::optional<Extent>({queries, d_output}) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace headlight::attention
