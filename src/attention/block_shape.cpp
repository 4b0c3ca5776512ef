#include "attention/block_shape.h"

namespace headlight::attention {

std::optional<BlockShape::Extent> BlockShape::extent(Stage stage) const {
  const auto stream = [&](bool exists) {  // as wide as what the block adds
    return exists ? std::optional<Extent>({queries, d_output > 0 ? d_output : d_merged}) : std::nullopt;
  };
  const auto inner = [&](bool exists) { return exists ? std::optional<Extent>({queries, d_ff}) : std::nullopt; };
  switch (stage) {
    case Stage::Residual:
    case Stage::Attended:
      return stream(has_residual);
    case Stage::AttentionSum:
      return stream(has_residual && norms_sum);
    case Stage::FfnInput:
      return stream(norms_ffn_input);
    case Stage::FfnRouter:
    case Stage::FfnGates:
      return experts > 0 ? std::optional<Extent>({queries, experts}) : std::nullopt;
    case Stage::FfnGate:
      return inner(has_gate);
    case Stage::FfnHidden:
    case Stage::FfnActive:
      return inner(d_ff > 0);
    case Stage::FfnOutput:
    case Stage::Next:
      return stream(has_feed_forward);
    case Stage::FfnSum:
      return stream(norms_ffn_sum);
    case Stage::X:
      return has_input ? std::optional<Extent>({queries, d_model}) : std::nullopt;
    case Stage::Q:
      return only_weights ? std::nullopt : std::optional<Extent>({queries, d_k});
    case Stage::K:
      return only_weights ? std::nullopt : std::optional<Extent>({keys, d_k});
    case Stage::V:
      return has_values ? std::optional<Extent>({keys, d_v}) : std::nullopt;
    case Stage::ContentPosition:
      return has_content_position ? std::optional<Extent>({queries, keys}) : std::nullopt;
    case Stage::PositionContent:
      return has_position_content ? std::optional<Extent>({queries, keys}) : std::nullopt;
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
