#include "attention/block_shape.h"

#include "core/error.h"

namespace headlight::attention {
namespace {

constexpr std::uint32_t kMaxPool = 1u << 20;  // far more than any matrix has rows, and sums with it don't overflow

}  // namespace

void check(const BlockShape& shape, const TileRequest& request) {
  const bool can_sample = request.stage == Stage::Weights && request.pooling == Pooling::Max &&
                          request.pool >= kMinSampledPool && request.sampled_rows < request.pool;
  if (request.sampled_rows != 0 && !can_sample) {
    throw Error(
        "{} of {} rows of a square can't be sampled of stage '{}': ask for the largest weights of squares of at least "
        "{} rows",
        request.sampled_rows, request.pool, to_string(request.stage), kMinSampledPool);
  }
  const auto extent = shape.extent(request.stage);
  if (!extent)
    throw Error("the block {} {} has no stage '{}'", to_string(request.block.kind), request.block.layer.value,
                to_string(request.stage));
  const auto fits = [](std::uint32_t first, std::uint32_t count, std::uint32_t all) {
    return count > 0 && count <= all && first <= all - count;
  };
  const bool is_inside = fits(request.row, request.rows, extent->rows) &&
                         fits(request.column, request.columns, extent->columns) && request.pool > 0 &&
                         request.pool <= kMaxPool && request.pooled_columns <= kMaxPool && request.batch < shape.batch &&
                         (!is_per_head(request.stage) || request.head < shape.heads);
  if (!is_inside) {
    throw Error("a tile of stage '{}' (rows {}+{}, columns {}+{}, batch {}, head {}) lies outside its matrix of {} × {}",
                to_string(request.stage), request.row, request.rows, request.column, request.columns, request.batch,
                request.head, extent->rows, extent->columns);
  }
}

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
