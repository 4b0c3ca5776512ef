#include "app/shapes/quantities/strongest.h"

#include <bit>

#include "app/shapes/quantities/map_tiles.h"

namespace headlight::app {
namespace {

using Known = std::function<const attention::Tile*(const TileQuery&)>;

/// Squares that are asked for at once.
constexpr std::size_t kAtOnce = 256;
/// Squares along an edge of a map, at most.
constexpr std::uint32_t kSquares = 512;

/// A square of cells, or a whole tile of a map that isn't pooled, and its largest weight.
struct Square {
  float largest = 0.0F;
  TileQuery cells;
};

TileQuery exact(TileQuery query) {
  query.pool = 1;
  query.pooling = {};
  return query;
}

void keep_first(std::optional<RankedCell>& best, const std::optional<RankedCell>& other) {
  if (other && (!best || comes_before(*other, *best))) best = other;
}

/// Looks in one row or column, which one tile holds.
StrongestAnswer seek_in_line(const StrongestQuestion& question, const Known& known) {
  const attention::Cell from = question.from.value_or(attention::Cell{});
  const bool is_row = question.of == StrongestOf::Row;
  TileQuery line = exact(question.map);
  line.row = is_row ? from.query : 0;
  line.rows = is_row ? 1 : question.rows;
  line.column = is_row ? 0 : from.key;
  line.columns = is_row ? question.columns : 1;
  const attention::Tile* tile = known(line);
  if (!tile) return {.needs = {line}, .found = {}};
  std::optional<RankedCell> after;
  if (question.from) {
    after = RankedCell{.value = is_row ? tile->at(0, from.key) : tile->at(from.query, 0), .cell = from};
  }
  std::optional<RankedCell> found = first_behind(*tile, after);
  if (!found) found = first_behind(*tile, std::nullopt);
  return {.needs = {}, .found = found};
}

class MapSearch {
 public:
  MapSearch(const StrongestQuestion& question, const Known& known) : question_(question), known_(known) {}

  StrongestAnswer seek() {
    list_squares();
    if (!needs_.empty()) return answer();
    std::optional<RankedCell> after;
    if (question_.from) {
      const TileQuery around = square_around(*question_.from);
      const attention::Tile* tile = look(around);
      if (!tile) return answer();
      const float value = tile->at(question_.from->query - around.row, question_.from->key - around.column);
      after = RankedCell{.value = value, .cell = *question_.from};
    }
    best_ = first_after(after);
    if (!best_ && needs_.empty() && after) best_ = first_after(std::nullopt);
    return answer();
  }

 private:
  StrongestAnswer answer() const { return {.needs = needs_, .found = needs_.empty() ? best_ : std::optional<RankedCell>()}; }

  const attention::Tile* look(const TileQuery& query) {
    const attention::Tile* tile = known_(query);
    if (!tile) needs_.push_back(query);
    return tile;
  }

  std::uint32_t pool() const {
    const std::uint32_t edge = std::max(question_.rows, question_.columns);
    return std::bit_ceil((edge + kSquares - 1) / kSquares);
  }

  std::uint32_t edge() const { return pool() == 1 ? kMapTileEdge : pool(); }

  TileQuery square_at(std::uint32_t row, std::uint32_t column) const {
    TileQuery square = exact(question_.map);
    square.row = row;
    square.column = column;
    square.rows = std::min(edge(), question_.rows - row);
    square.columns = std::min(edge(), question_.columns - column);
    return square;
  }
  TileQuery square_around(attention::Cell cell) const {
    return square_at(cell.query / edge() * edge(), cell.key / edge() * edge());
  }

  /// Lists the squares from the one with the largest weight on, equal ones from the upper left on.
  void list_squares() {
    TileQuery whole = question_.map;
    whole.row = whole.column = 0;
    whole.rows = question_.rows;
    whole.columns = question_.columns;
    whole.pool = pool();
    whole.pooling = {};
    for (const MapTile& place : tiles_over(whole)) {
      const TileQuery query = tile_query(whole, question_.rows, question_.columns, place);
      const attention::Tile* tile = look(query);
      if (tile && pool() == 1) {
        const std::optional<RankedCell> strongest = first_behind(*tile, std::nullopt);
        if (strongest) squares_.push_back({.largest = strongest->value, .cells = query});
        continue;
      }
      for (std::uint32_t y = 0; tile && y < query.tile_rows(); ++y) {
        for (std::uint32_t x = 0; x < query.tile_columns(); ++x) {
          const float largest = tile->at(y, x);
          if (tile->is_masked(y, x) || std::isnan(largest)) continue;
          squares_.push_back({.largest = largest, .cells = square_at(query.row + y * pool(), query.column + x * pool())});
        }
      }
    }
    std::ranges::sort(squares_, [](const Square& left, const Square& right) {
      if (left.largest != right.largest) return left.largest > right.largest;
      return std::pair(left.cells.row, left.cells.column) < std::pair(right.cells.row, right.cells.column);
    });
  }

  /// Looks into a square, unless enough tiles are asked for already.
  void look_into(const Square& square, const std::optional<RankedCell>& after, std::optional<RankedCell>& best) {
    if (needs_.size() >= kAtOnce) return;
    if (const attention::Tile* tile = look(square.cells)) keep_first(best, first_behind(*tile, after));
  }

  /// Returns the next cell of the same value. It is in a square whose largest value isn't below it, at the cell's row or
  /// below: the first row of squares that has one.
  std::optional<RankedCell> next_alike(const RankedCell& after) {
    std::vector<Square> candidates;
    for (const Square& square : squares_) {
      const bool ends_before = square.cells.row + square.cells.rows <= after.cell.query;
      if (square.largest >= after.value && !ends_before) candidates.push_back(square);
    }
    std::ranges::stable_sort(candidates, {}, [](const Square& square) { return square.cells.row; });
    std::optional<RankedCell> best;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const bool is_next_row = i > 0 && candidates[i].cells.row != candidates[i - 1].cells.row;
      const bool is_alike = best && best->value == after.value;
      if (is_next_row && (is_alike || !needs_.empty())) break;
      look_into(candidates[i], after, best);
    }
    return best && best->value == after.value ? best : std::nullopt;
  }

  /// Squares whose largest weight isn't below the cell's are all looked into for smaller ones, those below it from the
  /// largest on, until none can hold one that comes before what was found.
  std::optional<RankedCell> first_after(const std::optional<RankedCell>& after) {
    if (after) {
      const std::optional<RankedCell> alike = next_alike(*after);
      if (alike || !needs_.empty()) return alike;
    }
    std::optional<RankedCell> best;
    for (const Square& square : squares_) {
      const bool may_be_smaller = !after || square.largest < after->value;
      if (may_be_smaller && !needs_.empty() && square.largest < asked_) break;  // what was asked for may be larger
      if (may_be_smaller && best && square.largest < best->value) break;
      if (may_be_smaller && best && square.largest == best->value && square.cells.row > best->cell.query) continue;
      const std::size_t asked = needs_.size();
      look_into(square, after, best);
      if (needs_.size() > asked) asked_ = square.largest;
    }
    return best;
  }

  const StrongestQuestion& question_;
  const Known& known_;
  std::vector<Square> squares_;
  std::vector<TileQuery> needs_;
  float asked_ = 0.0F;  ///< the largest weight of the last square that was asked for
  std::optional<RankedCell> best_;
};

}  // namespace

bool comes_before(const RankedCell& left, const RankedCell& right) {
  if (left.value != right.value) return left.value > right.value;
  if (left.cell.query != right.cell.query) return left.cell.query < right.cell.query;
  return left.cell.key < right.cell.key;
}

std::optional<RankedCell> first_behind(const attention::Tile& exact, const std::optional<RankedCell>& after) {
  std::optional<RankedCell> first;
  for (std::uint32_t row = 0; row < exact.request.rows; ++row) {
    for (std::uint32_t column = 0; column < exact.request.columns; ++column) {
      if (exact.is_masked(row, column) || std::isnan(exact.at(row, column))) continue;
      const RankedCell cell{.value = exact.at(row, column),
                            .cell = {.query = exact.request.row + row, .key = exact.request.column + column}};
      if (!after || comes_before(*after, cell)) keep_first(first, cell);
    }
  }
  return first;
}

StrongestAnswer seek_strongest(const StrongestQuestion& question, const Known& known) {
  if (question.of != StrongestOf::Map) return seek_in_line(question, known);
  return MapSearch(question, known).seek();
}

}  // namespace headlight::app
