#include "app/shapes/quantities/evaluation.h"

#include <limits>

namespace headlight::app {
namespace {

using attention::Stage;

/// Exact cells of one strip where pooling comes after the difference.
constexpr std::uint32_t kStripCells = 1U << 18;

float difference(float value, float baseline) {
  return value == baseline ? 0.0F : value - baseline;  // −∞ in both: no difference
}

/// Turns two runs' tiles of the base into their difference.
struct Comparison {
  TileQuery query;                   ///< of the base
  bool takes_farthest;               ///< of a square's differences the one that is farthest from 0; else their mean
  bool pools_itself;                 ///< the base's tiles are exact, their differences are pooled here
  bool masks_missing_alone = false;  ///< of a stage before the mask: cells without counterparts, and no others
  /// Counterparts of the matrix' tokens, those of columns of maps alone; empty: all have one.
  std::span<const std::uint32_t> rows_there = {}, columns_there = {};

  Comparison(const TileQuery& asked, const EvaluationSubject& subject);
  /// Returns the rows that a strip from `row` on stands for; a sample's strip has fewer.
  std::uint32_t rows_from(std::uint32_t row) const;
  TileQuery strip(std::uint32_t row) const;
  void add(const attention::Tile& run, const attention::Tile& baseline, attention::Tile& tile) const;
  /// Has the cell of the matrix counterparts in the baseline?
  bool is_there(std::uint32_t row, std::uint32_t column) const {
    const auto has_one = [](std::span<const std::uint32_t> tokens, std::uint32_t token) {
      return tokens.empty() || tokens[token] != inference::kNoCounterpart;
    };
    return has_one(rows_there, row) && has_one(columns_there, column);
  }
};

Comparison::Comparison(const TileQuery& asked, const EvaluationSubject& subject)
    : query(asked),
      takes_farthest(asked.pooling == attention::Pooling::Max &&
                     quantity(asked.quantity).stage == attention::Stage::Weights) {
  query.quantity = *quantity(asked.quantity).base;
  if (const auto& pairs = subject.baseline.pairs) {
    const Stage stage = quantity(query.quantity).stage;
    const auto& of_queries = pairs->queries(query.block.kind).at(query.batch);
    const auto& of_keys = pairs->keys(query.block.kind).at(query.batch);
    rows_there = is_of_keys(stage) ? of_keys : of_queries;
    if (attention::is_map(stage)) columns_there = of_keys;
    masks_missing_alone = stage != Stage::Masked && stage != Stage::Weights;
  }
  pools_itself = !asked.is_exact() && (takes_farthest || !rows_there.empty());
}

std::uint32_t Comparison::rows_from(std::uint32_t row) const {
  if (!pools_itself) return query.rows;
  // A sampled map has one strip for each row of squares.
  const std::uint32_t pools =
      query.sampled_rows > 0 ? 1U : std::max(kStripCells / std::max(query.columns, 1U) / query.pool, 1U);
  return std::min(pools * query.pool, query.row + query.rows - row);
}

TileQuery Comparison::strip(std::uint32_t row) const {
  TileQuery strip = query;
  strip.row = row;
  strip.rows = rows_from(row);
  strip.sampled_rows = 0;
  if (query.sampled_rows > 0) strip.rows = std::min(query.sampled_rows, strip.rows);
  if (pools_itself) {
    strip.pool = 1;
    strip.pooled_columns = 0;
  }
  return strip;
}

void Comparison::add(const attention::Tile& run, const attention::Tile& baseline, attention::Tile& tile) const {
  const std::uint32_t pool = pools_itself ? query.pool : 1, column_pool = pools_itself ? query.column_pool() : 1;
  const std::uint32_t rows = run.request.tile_rows(), columns = run.request.tile_columns();
  for (std::uint32_t row = 0; row < rows; row += pool) {
    for (std::uint32_t column = 0; column < columns; column += column_pool) {
      float farthest = 0.0F;
      double sum = 0.0;
      std::size_t count = 0;
      bool is_masked = true;
      for (std::uint32_t r = row; r < std::min(row + pool, rows); ++r) {
        for (std::uint32_t c = column; c < std::min(column + column_pool, columns); ++c) {
          if (!is_there(run.request.row + r, run.request.column + c)) continue;
          const float cell = difference(run.at(r, c), baseline.at(r, c));
          // A NaN stays: no later cell is farther from 0 than it.
          if (!(std::abs(cell) <= std::abs(farthest)) && !std::isnan(farthest)) farthest = cell;
          sum += double{cell};
          ++count;
          is_masked = is_masked && run.is_masked(r, c) && baseline.is_masked(r, c);
        }
      }
      if (count == 0) farthest = std::numeric_limits<float>::quiet_NaN();  // none of the cells has a counterpart
      const bool is_mean = pools_itself && !takes_farthest && count > 0;
      tile.values.push_back(is_mean ? static_cast<float>(sum / static_cast<double>(count)) : farthest);
      if (masks_missing_alone) {
        tile.masked.push_back(count == 0 ? 1 : 0);
      } else if (!run.masked.empty()) {
        tile.masked.push_back(is_masked ? 1 : 0);
      }
    }
  }
}

Evaluation compared_in_strips(TileQuery query, EvaluationSubject subject) {
  const Comparison comparison(query, subject);
  const Quantity& base = quantity(comparison.query.quantity);
  const EvaluationSubject baseline = baseline_of(subject);
  attention::Tile tile;
  tile.request = stage_request(comparison.query);
  for (std::uint32_t row = query.row; row < query.row + query.rows; row += comparison.rows_from(row)) {
    const attention::Tile now = co_await base.evaluate(comparison.strip(row), subject);
    const attention::Tile then = co_await base.evaluate(comparison.strip(row), baseline);
    comparison.add(now, then, tile);
  }
  co_return tile;
}

}  // namespace

Evaluation baseline_tile(const TileQuery& query, const EvaluationSubject& subject) {
  TileQuery of_base = query;
  of_base.quantity = *quantity(query.quantity).base;
  return quantity(of_base.quantity).evaluate(of_base, baseline_of(subject));
}

Evaluation difference_tile(const TileQuery& query, const EvaluationSubject& subject) {
  return compared_in_strips(query, subject);
}

}  // namespace headlight::app
