#pragma once

#include "app/engine/analyses/analysis.h"
#include "attention/mask.h"

namespace headlight::app {

/// The cells of one map whose weights differ most from the baseline's: of a head, or of a mean over the heads of a layer or
/// of a kind of attention. Strips of rows are read where a text has more than 2,048 tokens (measured_rows()).
struct ChangedCellsQuestion {
  model::BlockRef block = {};
  std::uint32_t batch = 0, head = 0;
  HeadMean mean = HeadMean::None;

  auto operator<=>(const ChangedCellsQuestion&) const = default;
  bool compares() const { return true; }
};
/// Returns the question about the map that is selected.
ChangedCellsQuestion changed_cells_query(const Selection& selection);

struct ChangedCell {
  attention::Cell cell = {};
  double now = 0.0, then = 0.0;  ///< its weights

  double change() const { return now - then; }
};

struct ChangedCells final : AnalysisResult {
  static constexpr std::size_t kMax = 50;

  std::vector<ChangedCell> cells;  ///< kMax at most, the largest change of either sign first; equal ones by row and column
  std::size_t changed = 0;         ///< cells that differ, listed or not
};

Task<ChangedCells> analyse(ChangedCellsQuestion question, AnalysisSubject subject);

/// Asks how much the weights of each head, of all kinds of attention, differ from the baseline's. Strips of rows are read
/// where a text has more than 2,048 tokens (measured_rows()).
struct ChangedHeadsQuestion {
  std::uint32_t batch = 0;

  auto operator<=>(const ChangedHeadsQuestion&) const = default;
  bool compares() const { return true; }
};

struct ChangedHead {
  HeadRef head;
  /// Mean over queries of ½ Σ over keys of |weight now − weight then|, the share of its attention that a query gives to
  /// other keys than before: 0 … 1. A row that has weights in one of the runs only counts ½.
  double moved = 0.0;
  attention::Cell cell = {};      ///< whose weight changed most
  float now = 0.0F, then = 0.0F;  ///< its weights
};

struct ChangedHeads final : AnalysisResult {
  std::vector<ChangedHead> heads;  ///< those whose weights differ, most first; equal ones by layer and head
  std::size_t all_heads = 0;
};

Task<ChangedHeads> analyse(ChangedHeadsQuestion question, AnalysisSubject subject);

}  // namespace headlight::app
