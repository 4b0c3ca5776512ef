#include "app/quantities/shown_map.h"

#include <array>

namespace headlight::app {

std::string_view to_string(HeadMean mean) {
  constexpr std::array<std::string_view, 3> kNames = {"none", "layer", "all"};
  return kNames[static_cast<std::size_t>(mean)];
}

QuantityId weights_of(HeadMean mean) {
  if (mean == HeadMean::None) return attention::Stage::Weights;
  return mean == HeadMean::Layer ? kMeanOfLayer : kMeanOfKind;
}

TileQuery shown_map(const Selection& selection, TileQuery query) {
  if (selection.mean == HeadMean::None || query.quantity != QuantityId(attention::Stage::Weights)) return query;
  query.quantity = weights_of(selection.mean);
  query.head = 0;
  if (selection.mean == HeadMean::Kind) query.block.layer = LayerIndex{0};  // the same for every layer
  return query;
}

attention::Stage shown_stage(const State& state) {
  return state.selection.mean == HeadMean::None ? state.view.heatmap_stage : attention::Stage::Weights;
}

}  // namespace headlight::app
