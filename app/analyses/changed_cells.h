#pragma once

#include <cstddef>
#include <vector>

#include "app/analyses/analysis.h"
#include "attention/mask.h"

namespace headlight::app {

/// The cells of one map whose weights differ most from those of the run that is compared with: of a head, or of a mean over
/// the heads of a layer or of a kind of attention. Heeds the query's `block`, `batch`, `head` (of a mean 0) and `options`: a
/// HeadMean. Of a text of more than 2,048 tokens strips of rows are read (measured_rows()).
extern const Analysis kChangedCells;

/// The question about the map that is selected.
AnalysisQuery changed_cells_query(const Selection& selection);

struct ChangedCell {
  attention::Cell cell = {};
  double now = 0.0, then = 0.0;  ///< its weights

  double change() const { return now - then; }
};

struct ChangedCells final : AnalysisResult {
  static constexpr std::size_t kMost = 50;

  std::vector<ChangedCell> cells;  ///< kMost at most, the largest change of either sign first; equal ones by row and column
  std::size_t changed = 0;         ///< cells that differ, listed or not
};

}  // namespace headlight::app
