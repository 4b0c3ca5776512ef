#include "app/quantities/shown_map.h"

namespace headlight::app {

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
