#pragma once

#include "app/shapes/quantities/tile_query.h"
#include "app/state/transient.h"

namespace headlight::app {

/// A cell of a map with its value.
struct RankedCell {
  float value = 0.0F;
  attention::Cell cell;

  bool operator==(const RankedCell&) const = default;
};
/// Orders cells from the strongest on: the larger value comes first, of equal ones the upper row, then the left column.
bool comes_before(const RankedCell& left, const RankedCell& right);

/// Returns the first of an exact tile's cells that comes after `after`, of all where there is none. Masked cells and NaN
/// don't count.
std::optional<RankedCell> first_behind(const attention::Tile& exact, const std::optional<RankedCell>& after);

/// Asks which cell comes next after `from`; the strongest of all where there is none or nothing comes after it.
struct StrongestQuestion {
  TileQuery map;  ///< names it; its rectangle is ignored
  std::uint32_t rows = 0, columns = 0;
  StrongestOf of = StrongestOf::Map;  ///< the row's and the column's are those of `from`
  std::optional<attention::Cell> from;
};

/// The answer, or the tiles without which it isn't known.
struct StrongestAnswer {
  std::vector<TileQuery> needs;
  std::optional<RankedCell> found;  ///< none without needs: the map has no visible cell
};

/// Looks for the cell among the tiles that `known` has (null: unknown). On a whole map it looks first at the largest weights
/// of squares, then inside of those squares that can hold the cell: call it again when the needed tiles are known. Whole
/// maps must be of weights, whose squares are pooled by the largest.
StrongestAnswer seek_strongest(const StrongestQuestion& question,
                               const std::function<const attention::Tile*(const TileQuery&)>& known);

}  // namespace headlight::app
