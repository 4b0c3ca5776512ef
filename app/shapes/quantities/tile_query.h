#pragma once

#include <compare>

#include "app/shapes/quantities/quantity.h"
#include "app/state/state.h"

namespace headlight::app {

/// A rectangle of a quantity's matrix, perhaps pooled: what a view asks for.
struct TileQuery {
  QuantityId quantity = attention::Stage::Weights;
  model::BlockRef block = {};
  std::uint32_t batch = 0;
  std::uint32_t head = 0;     ///< of quantities with a matrix for each head; else 0
  std::uint32_t row = 0;      ///< first row
  std::uint32_t rows = 0;     ///< at least 1
  std::uint32_t column = 0;   ///< first column
  std::uint32_t columns = 0;  ///< at least 1
  std::uint32_t pool =
      1;  ///< as attention::TileRequest::pool; of differences the one farthest from 0 in place of the largest

  attention::Pooling pooling = attention::Pooling::Max;  ///< of weights and their means
  /// attention::TileRequest::sampled_rows of the request; above 0 only in a thumbnail's query, of weights or their
  /// differences.
  std::uint32_t sampled_rows = 0;
  /// attention::TileRequest::pooled_columns of the request.
  std::uint32_t pooled_columns = 0;

  auto operator<=>(const TileQuery&) const = default;
  std::uint32_t tile_rows() const { return (rows + pool - 1) / pool; }
  std::uint32_t column_pool() const { return pooled_columns > 0 ? pooled_columns : pool; }
  /// Is each value one cell?
  bool is_exact() const { return pool == 1 && column_pool() == 1; }
  std::uint32_t tile_columns() const { return (columns + column_pool() - 1) / column_pool(); }
};

/// Pools each side of the query's rectangle by the least power of two that leaves at most `most` values: x along the
/// columns, y along the rows. At least 1 of each.
void pool_sides(TileQuery& query, glm::uvec2 most);

/// Has a block of this shape a matrix of the quantity? A capture may have weights alone, without the values that norms need.
bool has_matrix(const inference::BlockShape& shape, QuantityId of);

/// Does the query lie inside its matrix, in runs of these shapes?
bool is_inside(const TileQuery& query, const BlockShapes& shapes);

/// Returns the request for the same rectangle of the quantity's stage, with its own head.
attention::TileRequest stage_request(const TileQuery& query);

/// Returns "none", "layer", "all".
std::string_view to_string(HeadMean mean);

/// Returns what a selection shows of weights: the head's, or a mean over heads; themselves, or as the norms of what they
/// add.
QuantityId weights_of(HeadMean mean, bool as_norms = false);

/// Converts a query for the selected head to one for the selection: the head, or a mean of weights. A mean over all layers
/// is asked of the first layer of its kind in `shapes`, whichever layer is selected.
TileQuery shown_map(const Selection& selection, const BlockShapes& shapes, TileQuery query, bool as_norms = false);

/// Returns the stage on the big heatmap: a mean is always of weights.
attention::Stage shown_stage(const State& state);

/// Does the big heatmap show weights as norms?
bool shows_norms(const State& state);

}  // namespace headlight::app
