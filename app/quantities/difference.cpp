#include "app/quantities/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace headlight::app {
namespace {

using attention::Stage;

/// Exact cells of one strip where pooling comes after the difference.
constexpr std::uint32_t kStripCells = 1U << 18;

float difference(float value, float reference) {
  return value == reference ? 0.0F : value - reference;  // −∞ in both: no difference
}

class Difference final : public Evaluation {
 public:
  Difference(const TileQuery& query, const EvaluationSubject& subject);

  Step next(std::size_t most_cells) override;
  void take(std::vector<attention::Tile> tiles) override;
  bool is_done() const override { return row_ >= query_.row + query_.rows; }
  attention::Tile result() override { return std::move(tile_); }

 private:
  void begin_strip();
  void end_strip(const attention::Tile& run, const attention::Tile& reference);
  /// Has the cell of the matrix counterparts in the reference?
  bool is_there(std::uint32_t row, std::uint32_t column) const {
    const auto has_one = [](std::span<const std::uint32_t> tokens, std::uint32_t token) {
      return tokens.empty() || tokens[token] != inference::kNoCounterpart;
    };
    return has_one(rows_there_, row) && has_one(columns_there_, column);
  }

  TileQuery query_;                    ///< of the base
  EvaluationSubject run_, reference_;  ///< each as the run that the base is evaluated of
  bool takes_farthest_;                ///< of a square's differences the one that is farthest from 0; else their mean
  bool pools_itself_ = false;          ///< the base's tiles are exact, their differences are pooled here
  bool masks_missing_alone_ = false;   ///< of a stage before the mask: cells without counterparts, and no others
  /// Counterparts of the matrix' tokens, those of columns of maps alone; empty: all have one.
  std::span<const std::uint32_t> rows_there_, columns_there_;
  attention::Tile tile_;
  std::uint32_t row_ = 0;   ///< first row of the strip
  std::uint32_t rows_ = 0;  ///< that the strip stands for; of a sample it has fewer
  std::unique_ptr<Evaluation> of_run_, of_reference_;
};

Difference::Difference(const TileQuery& query, const EvaluationSubject& subject)
    : query_(query),
      run_(subject),
      reference_(subject),
      takes_farthest_(query.pooling == attention::Pooling::Max &&
                      quantity(query.quantity).stage == attention::Stage::Weights) {
  reference_.run = subject.reference;
  query_.quantity = *quantity(query.quantity).base;
  tile_.request = stage_request(query_);
  row_ = query_.row;
  if (reference_.run.pairs) {
    const Stage stage = quantity(query_.quantity).stage;
    const auto& of_queries = reference_.run.pairs->queries(query_.block.kind).at(query_.batch);
    const auto& of_keys = reference_.run.pairs->keys(query_.block.kind).at(query_.batch);
    rows_there_ = stage == Stage::K || stage == Stage::V ? of_keys : of_queries;
    if (attention::is_map(stage)) columns_there_ = of_keys;
    masks_missing_alone_ = stage != Stage::Masked && stage != Stage::Weights;
  }
  pools_itself_ = !query.is_exact() && (takes_farthest_ || !rows_there_.empty());
  begin_strip();
}

void Difference::begin_strip() {
  const std::uint32_t end = query_.row + query_.rows;
  const std::uint32_t sampled = query_.sampled_rows;  // a strip for each row of squares
  const std::uint32_t pools = sampled > 0 ? 1U : std::max(kStripCells / std::max(query_.columns, 1U) / query_.pool, 1U);
  rows_ = pools_itself_ ? std::min(pools * query_.pool, end - row_) : query_.rows;
  TileQuery strip = query_;
  strip.row = row_;
  strip.rows = rows_;
  strip.sampled_rows = 0;
  if (sampled > 0) strip.rows = std::min(sampled, rows_);
  if (pools_itself_) {
    strip.pool = 1;
    strip.pooled_columns = 0;
  }
  const Quantity& base = quantity(query_.quantity);
  of_run_ = base.begin(strip, run_);
  of_reference_ = base.begin(strip, reference_);
}

Evaluation::Step Difference::next(std::size_t most_cells) {
  if (!of_run_->is_done()) return of_run_->next(most_cells);
  Step step = of_reference_->next(most_cells);
  step.of = Of::Reference;
  return step;
}

void Difference::take(std::vector<attention::Tile> tiles) {
  (of_run_->is_done() ? of_reference_ : of_run_)->take(std::move(tiles));
  if (!of_run_->is_done() || !of_reference_->is_done()) return;
  end_strip(of_run_->result(), of_reference_->result());
  row_ += rows_;
  if (!is_done()) begin_strip();
}

void Difference::end_strip(const attention::Tile& run, const attention::Tile& reference) {
  const std::uint32_t pool = pools_itself_ ? query_.pool : 1, column_pool = pools_itself_ ? query_.column_pool() : 1;
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
          const float cell = difference(run.at(r, c), reference.at(r, c));
          // A NaN stays: no later cell is farther from 0 than it.
          if (!(std::abs(cell) <= std::abs(farthest)) && !std::isnan(farthest)) farthest = cell;
          sum += double{cell};
          ++count;
          is_masked = is_masked && run.is_masked(r, c) && reference.is_masked(r, c);
        }
      }
      if (count == 0) farthest = std::numeric_limits<float>::quiet_NaN();  // none of the cells has a counterpart
      const bool is_mean = pools_itself_ && !takes_farthest_ && count > 0;
      tile_.values.push_back(is_mean ? static_cast<float>(sum / static_cast<double>(count)) : farthest);
      if (masks_missing_alone_) {
        tile_.masked.push_back(count == 0 ? 1 : 0);
      } else if (!run.masked.empty()) {
        tile_.masked.push_back(is_masked ? 1 : 0);
      }
    }
  }
}

/// The base's evaluation, whose tiles are read of the reference.
class OfReference final : public Evaluation {
 public:
  explicit OfReference(std::unique_ptr<Evaluation> base) : base_(std::move(base)) {}

  Step next(std::size_t most_cells) override {
    Step step = base_->next(most_cells);
    step.of = Of::Reference;
    return step;
  }
  void take(std::vector<attention::Tile> tiles) override { base_->take(std::move(tiles)); }
  bool is_done() const override { return base_->is_done(); }
  attention::Tile result() override { return base_->result(); }

 private:
  std::unique_ptr<Evaluation> base_;
};

}  // namespace

std::unique_ptr<Evaluation> begin_baseline(const TileQuery& query, const EvaluationSubject& subject) {
  TileQuery of_base = query;
  of_base.quantity = *quantity(query.quantity).base;
  EvaluationSubject reference = subject;
  reference.run = subject.reference;
  return std::make_unique<OfReference>(quantity(of_base.quantity).begin(of_base, reference));
}

std::unique_ptr<Evaluation> begin_difference(const TileQuery& query, const EvaluationSubject& subject) {
  return std::make_unique<Difference>(query, subject);
}

}  // namespace headlight::app
