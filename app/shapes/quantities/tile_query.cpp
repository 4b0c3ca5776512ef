#include "app/shapes/quantities/tile_query.h"

namespace headlight::app {

namespace {

/// Returns the least power of two by which `cells` are at most `most` values.
std::uint32_t pool_of(std::uint32_t cells, std::uint32_t most) {
  std::uint32_t pool = 1;
  while ((cells + pool - 1) / pool > std::max(most, 1U)) pool *= 2;
  return pool;
}

}  // namespace

void pool_sides(TileQuery& query, glm::uvec2 most) {
  query.pool = pool_of(query.rows, most.y);
  const std::uint32_t columns = pool_of(query.columns, most.x);
  query.pooled_columns = columns == query.pool ? 0 : columns;
}

bool has_matrix(const inference::BlockShape& shape, QuantityId of) {
  return quantity(of).shape(shape).has_value() && (quantity(of).unit != "norm" || shape.has_values);
}

bool is_inside(const TileQuery& query, const BlockShapes& shapes) {
  const auto found = shapes.find(query.block);
  if (found == shapes.end() || query.quantity.index() >= quantities().size()) return false;
  const Quantity& asked = quantity(query.quantity);
  const inference::BlockShape& shape = found->second;
  const auto extent = asked.shape(shape);
  if (!has_matrix(shape, query.quantity)) return false;
  const bool has_head = asked.scope != Scope::Head || query.head < shape.heads;
  const bool can_sample = query.quantity == QuantityId(attention::Stage::Weights) ||
                          query.quantity == difference_of(QuantityId(attention::Stage::Weights));
  if (query.sampled_rows != 0 && (!can_sample || query.pool < attention::kMinSampledPool)) return false;
  return extent && has_head && query.batch < shape.batch && query.rows > 0 && query.columns > 0 && query.pool > 0 &&
         query.row < extent->rows && query.rows <= extent->rows - query.row && query.column < extent->columns &&
         query.columns <= extent->columns - query.column;
}

attention::TileRequest stage_request(const TileQuery& query) {
  return {.block = query.block,
          .batch = query.batch,
          .head = query.head,
          .stage = quantity(query.quantity).stage,
          .row = query.row,
          .rows = query.rows,
          .column = query.column,
          .columns = query.columns,
          .pool = query.pool,
          .pooling = query.pooling,
          .sampled_rows = query.sampled_rows,
          .pooled_columns = query.pooled_columns};
}

std::string_view to_string(HeadMean mean) {
  constexpr std::array<std::string_view, 3> kNames = {"none", "layer", "all"};
  return kNames[static_cast<std::size_t>(mean)];
}

QuantityId weights_of(HeadMean mean, bool as_norms) {
  if (mean == HeadMean::None) return as_norms ? kNorms : QuantityId(attention::Stage::Weights);
  if (mean == HeadMean::Layer) return as_norms ? kNormsOfLayer : kMeanOfLayer;
  return as_norms ? kNormsOfKind : kMeanOfKind;
}

TileQuery shown_map(const Selection& selection, const BlockShapes& shapes, TileQuery query, bool as_norms) {
  if (query.quantity != QuantityId(attention::Stage::Weights)) return query;
  query.quantity = weights_of(selection.mean, as_norms);
  if (selection.mean == HeadMean::None) return query;
  query.head = 0;
  const std::vector<model::BlockRef> all = blocks_of_kind(shapes, query.block.kind);
  if (selection.mean == HeadMean::Kind && !all.empty()) query.block = all.front();
  return query;
}

attention::Stage shown_stage(const State& state) {
  return state.selection.mean == HeadMean::None ? state.view.heatmap_stage : attention::Stage::Weights;
}

bool shows_norms(const State& state) { return state.view.weighs_values && shown_stage(state) == attention::Stage::Weights; }

}  // namespace headlight::app
