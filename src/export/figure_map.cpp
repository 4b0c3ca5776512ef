#include "export/figure_map.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "chart/value_scale.h"
#include "core/error.h"

namespace headlight::exporting {
namespace {

bool is_number(float value) { return std::isfinite(value) && value > chart::kFillBelow; }

// The pool of one value of the coarser map.
struct Collected {
  float largest = -std::numeric_limits<float>::infinity();
  double sum = 0.0;
  std::uint32_t numbers = 0;
  bool is_masked = true;
  bool is_odd = false;  // one of the visible values is NaN or infinite

  void add(float value, bool masked) {
    largest = std::max(largest, value);
    is_masked = is_masked && masked;
    is_odd = is_odd || (!masked && !std::isfinite(value));
    if (masked || !is_number(value)) return;
    sum += static_cast<double>(value);
    ++numbers;
  }
  float value(bool by_maximum) const {
    if (is_odd) return std::numeric_limits<float>::quiet_NaN();
    return by_maximum || numbers == 0 ? largest : static_cast<float>(sum / numbers);
  }
};

}  // namespace

bool FigureMap::is_blank(std::uint32_t row, std::uint32_t column) const {
  const float value = at(row, column);
  return is_masked(row, column) && (value == 0.0F || !is_number(value));
}

bool FigureMap::is_without_weights(std::uint32_t row_index) const {
  for (std::uint32_t column = 0; column < value_columns(); ++column) {
    if (!is_masked(row_index, column) || at(row_index, column) != 0.0F) return false;
  }
  return true;
}

FigureMap make_map(const attention::Tile& tile) {
  return {.rows = tile.request.rows,
          .columns = tile.request.columns,
          .pool = tile.request.pool,
          .pooled_columns = tile.request.pooled_columns,
          .pools_by_maximum = tile.request.stage == attention::Stage::Weights,
          .largest = tile.largest,
          .values = tile.values,
          .masked = tile.masked};
}

FigureMap pooled(const FigureMap& map, std::uint32_t max_edge) {
  const auto factor_of = [&](std::uint32_t values) { return std::max((values + max_edge - 1) / max_edge, 1U); };
  const std::uint32_t row_factor = factor_of(map.value_rows()), column_factor = factor_of(map.value_columns());
  if (row_factor == 1 && column_factor == 1) return map;
  FigureMap coarse{.rows = map.rows,
                   .columns = map.columns,
                   .pool = map.pool * row_factor,
                   .pooled_columns = map.column_pool() * column_factor,
                   .pools_by_maximum = map.pools_by_maximum,
                   .largest = map.largest,
                   .values = {},
                   .masked = {}};
  coarse.values.reserve(std::size_t{coarse.value_rows()} * coarse.value_columns());
  std::vector<Collected> line;
  for (std::uint32_t row = 0; row < coarse.value_rows(); ++row) {
    line.assign(coarse.value_columns(), {});
    const std::uint32_t end = std::min((row + 1) * row_factor, map.value_rows());
    for (std::uint32_t fine = row * row_factor; fine < end; ++fine) {
      for (std::uint32_t column = 0; column < map.value_columns(); ++column) {
        line[column / column_factor].add(map.at(fine, column), map.is_masked(fine, column));
      }
    }
    for (const Collected& each : line) {
      coarse.values.push_back(each.value(map.pools_by_maximum));
      if (!map.masked.empty()) coarse.masked.push_back(each.is_masked ? 1 : 0);
    }
  }
  return coarse;
}

void check(const FigureMap& map) {
  if (map.rows == 0 || map.columns == 0 || map.pool == 0) throw Error("a figure needs at least one row and one column");
  const std::size_t expected = std::size_t{map.value_rows()} * map.value_columns();
  if (map.values.size() != expected || (!map.masked.empty() && map.masked.size() != expected)) {
    throw Error("a figure of {} × {} cells pooled by {} × {} needs {} values, it got {} values and {} mask cells", map.rows,
                map.columns, map.pool, map.column_pool(), expected, map.values.size(), map.masked.size());
  }
}

}  // namespace headlight::exporting
