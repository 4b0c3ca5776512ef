#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attention/mask.h"
#include "attention/stage.h"

namespace headlight::app {

/// The least and the largest of some values; 0 and 0 where there are none.
struct ValueRange {
  float low = 0.0F, high = 0.0F;
};

/// What one query does with its weights.
struct RowStatistics {
  float largest = 0.0F;              ///< weight; 0 in a row without weights, NaN in a row with a NaN
  std::optional<std::uint32_t> key;  ///< the first that has the largest weight; none in such rows
  float entropy = 0.0F;              ///< −Σ w ln w in nats: 0 for one key, ln n for n alike; 0 or NaN in such rows
};

/// Facts about a whole tile that views need in every frame, computed once, when the tile is evaluated.
struct TileFacts {
  float largest_weight = 0.0F;  ///< as largest_weight(), of weights; of a tile of means its largest value
  /// What 98 % of the weights are at most, of some thousands, evenly spaced; 0 where fewer than 16 of these are visible and
  /// finite.
  float high_weight = 0.0F;
  bool has_masked = false;
  bool has_odd = false;           ///< NaN or infinite cells that aren't masked
  bool has_missing = false;       ///< masked cells that are NaN: the capture, or the run that is compared with, has none
  ValueRange range;               ///< as visible_range()
  float concentration = 0.0F;     ///< as concentration() of all rows of weights
  std::vector<float> row_scales;  ///< [tile_rows], as row_normalizers(); of weights

  // Of exact weights only: what a pooled tile tells of each square is its largest weight, from which neither follows.
  std::vector<RowStatistics> rows;  ///< [rows], each of the tile's columns: a whole row where the tile has all keys
  /// Σ of the weights of the tile's rows by column [columns]: what all queries together give to a key, where the tile has
  /// all of them. Padding queries count, and a row with NaNs makes its columns NaN.
  std::vector<float> received;

  std::size_t bytes() const;
};
TileFacts make_tile_facts(const attention::Tile& tile);

/// Do the stage's cells come after the mask? Scores and scaled scores come before it.
bool comes_after_mask(attention::Stage stage);

/// The finite values of a tile without its masked cells.
ValueRange visible_range(const attention::Tile& tile);

/// The largest weight of a tile's rows, 1/l; 0 when all rows are fully masked.
float largest_weight(const attention::Tile& tile);

/// Factor of each tile row that makes its largest weight 1: l, of pooled rows the least l; 0 for rows without weights.
std::vector<float> row_normalizers(const attention::Tile& tile);

/// Mean of the `queries` rows' largest weights, 1/l: 1 when every query attends to one key, 1/n when it attends to
/// all equally: HeadMetric::Concentration. Rows without weights are skipped; NaN where a row's aren't numbers. Of longer
/// inputs about `max_rows` evenly spaced rows are sampled.
float concentration(const attention::Tile& tile, attention::KeyRange queries, std::uint32_t max_rows);

}  // namespace headlight::app
