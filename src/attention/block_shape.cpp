#include "attention/block_shape.h"

#include "attention/layer_graph.h"
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
  const LayerGraph graph(*this, model::BlockKind::EncoderSelf);  // sizes are the same of every kind
  const LayerNode* node = graph.find(stage);
  return node != nullptr ? std::optional(node->extent) : std::nullopt;
}

}  // namespace headlight::attention
