#pragma once

#include "app/frame.h"

namespace headlight::app {

/// A tile on screen.
struct ShownTile {
  TileQuery query = {};                   ///< what it answers, perhaps another than was asked
  const attention::Tile* tile = nullptr;  ///< null while nothing fitting is known
  std::uint64_t run = 0;                  ///< the newest that it shows
  std::uint64_t version = 0;              ///< with the tile's request it names the values; 0: the run does
  const TileFacts* facts = nullptr;       ///< null without a tile

  /// Names the values among those that answered the query.
  std::uint64_t revision() const { return version != 0 ? version : run; }
};

/// Returns the shape of a layer of the run on screen; null: the run has no such layer.
const inference::BlockShape* find_shape(const EngineResult& result, model::BlockRef block);
/// Returns the selected layer's; null likewise.
inline const inference::BlockShape* selected_shape(const Frame& frame) {
  return find_shape(frame.result, frame.state.selection.block);
}

/// Return the tokens that the selected attention's queries and keys are of. There must be an input.
const model::TokenBatch& shown_queries(const Frame& frame);
const model::TokenBatch& shown_keys(const Frame& frame);

/// Returns the query for cells of a matrix of the selected head, or of its layer where the quantity has none of a head.
TileQuery tile_of(const Frame& frame, QuantityId id, const chart::Region& cells = {});
/// Requests the tile and returns it if it is known.
ShownTile find_tile(Frame& frame, const TileQuery& query);

/// Returns the sharpest known tile of `wanted`'s map that covers its region, requested or not: shown until the wanted one is
/// evaluated.
ShownTile find_covering_tile(const EngineResult& result, const TileQuery& wanted);

/// Returns known tiles of this run inside of `wanted`'s region that are finer than it, by two levels at most, the finest
/// last: shown above a covering tile while the wanted one is on its way. The renderer takes the largest of the cells of a
/// pixel, so they look as the wanted one will; means have none.
std::vector<ShownTile> find_finer_tiles(const EngineResult& result, const TileQuery& wanted);

/// Returns the user's colour map for weights, and the one for signed numbers: 256 packed colours, from low to high.
std::span<const std::uint32_t> weight_colors(const State& state);
std::span<const std::uint32_t> signed_colors(const shell::Theme& theme);

/// Is a cell of the tile masked at its stage? Scores and scaled scores come before the mask.
bool is_masked_here(const attention::Tile& tile, std::uint32_t tile_row, std::uint32_t tile_column);

/// Sets colours and range of weights: the user's colour map, scale and limits, or weight_limits() of the tile. With
/// `is_per_row` values are relative to each row's largest weight, and limits are ignored.
void set_weight_colors(shell::HeatmapImage& image, const State& state, const ShownTile& shown_tile, bool is_per_row);

/// Sets the colours of shares that are no weights, such as gates: from 0 up to the largest one.
void set_share_colors(shell::HeatmapImage& image, const State& state, const ValueRange& range);

/// Sets the colours of a difference of two runs: 0 in the middle, both ends as far from it as the values reach, at least
/// `least_reach`.
void set_difference_colors(shell::HeatmapImage& image, const shell::Theme& theme, const ValueRange& range,
                           float least_reach);

/// Returns how far the numbers of all heads of the run are from 0, of a quantity that every head has, so that their maps
/// share one range; 0: that isn't known yet, or the quantity is another one. Asks for it.
float shared_reach(Frame& frame, const TileQuery& shown);
/// As set_difference_colors(), by the shared reach where there is one.
void set_signed_colors(Frame& frame, shell::HeatmapImage& image, const TileQuery& shown, const ValueRange& range,
                       float least_reach);

/// Sets the colours of a matrix of a layer: those of its quantity's kind of numbers.
void color_matrix(Frame& frame, shell::HeatmapImage& image, const ShownTile& shown);

/// Returns concentration() of a tile that has all rows of its map: known already where all of them are `queries`, else of
/// about `max_rows` of these.
float shown_concentration(const ShownTile& shown, attention::KeyRange queries, std::uint32_t max_rows);

/// Returns numbers [rows, columns] that are no tile's as an image with 0 in the middle of the colours, whose ends are
/// `reach` away. Its revision changes with the numbers; key and area are the caller's.
shell::HeatmapImage signed_image(const Frame& frame, std::span<const float> values, std::uint32_t rows, float reach);
/// Sets key and revision for the renderer: the same values keep both, in each `place` of the window.
void name_image(shell::HeatmapImage& image, const ShownTile& shown_tile, std::uint32_t place);

/// Returns values and masked cells of a tile as an image; range, colours and area are the caller's.
shell::HeatmapImage heatmap_of(const ShownTile& shown_tile, std::uint32_t place, const shell::Theme& theme);

/// Draws it into the current window.
void draw_heatmap(const Frame& frame, const shell::HeatmapImage& image);

}  // namespace headlight::app
