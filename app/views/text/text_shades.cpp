#include "app/views/text/text_side.h"
#include "app/widgets/shown_tile.h"

namespace headlight::app {
namespace {

/// Returns a line of a tile, of which NaN and what isn't there count as 0.
TextShades line_of(std::vector<float> weights, bool is_difference) {
  TextShades shades{.weights = std::move(weights), .is_difference = is_difference};
  for (float& weight : shades.weights) {
    const bool counts = weight > 0.0F || (is_difference && weight < 0.0F);
    if (!counts) weight = 0.0F;  // NaN too
    shades.largest = std::max(shades.largest, std::abs(weight));
  }
  return shades;
}

const EngineTile* ask_for(Frame& frame, const chart::Region& cells) {
  return frame.ask(frame.compared(
      shown_map(frame.state.selection, frame.result.shapes, tile_of(frame, attention::Stage::Weights, cells))));
}

}  // namespace

TextShades shades_of(Frame& frame, LockedToken chosen) {
  const inference::BlockShape& shape = *selected_shape(frame);
  const bool is_row = chosen.side == MapSide::Query;
  if (chosen.token >= (is_row ? shape.queries : shape.keys)) return {};
  const EngineTile* known =
      ask_for(frame, is_row ? chart::Region{.row = chosen.token, .rows = 1, .columns = shape.keys}
                            : chart::Region{.rows = shape.queries, .column = chosen.token, .columns = 1});
  if (!known) return {.weights = {}, .is_difference = frame.shows_difference()};
  return line_of(known->tile->values, frame.shows_difference());
}

std::vector<TextShades> shades_of_all(Frame& frame, MapSide side) {
  const inference::BlockShape& shape = *selected_shape(frame);
  const EngineTile* known = ask_for(frame, {.rows = shape.queries, .columns = shape.keys});
  std::vector<TextShades> all;
  if (!known || !known->tile->request.is_exact()) return all;
  const attention::Tile& tile = *known->tile;
  const bool is_row = side == MapSide::Query;
  float largest = 0.0F;
  for (std::uint32_t token = 0; token < (is_row ? shape.queries : shape.keys); ++token) {
    std::vector<float> weights(is_row ? shape.keys : shape.queries);
    for (std::uint32_t other = 0; other < weights.size(); ++other)
      weights[other] = is_row ? tile.at(token, other) : tile.at(other, token);
    largest = std::max(largest, all.emplace_back(line_of(std::move(weights), frame.shows_difference())).largest);
  }
  const float most = largest;
  if (!frame.shows_difference() && tile.largest > 0.0F) largest = tile.largest;
  for (TextShades& one : all) {
    one.largest = largest;
    one.has_larger = most > largest + 5e-4F;  // as numbers are written
  }
  return all;
}

}  // namespace headlight::app
