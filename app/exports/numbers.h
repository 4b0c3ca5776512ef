#pragma once

#include "app/exports/plan.h"
#include "export/json.h"
#include "model/network.h"

namespace headlight::app {

/// Called between parts of a file with the share of it that is written, 0 … 1; throws to cancel.
using Checkpoint = std::function<void(double share)>;

/// One matrix of the plan.
struct MatrixRef {
  model::BlockRef block;
  std::uint32_t batch = 0;
  std::uint32_t head = 0;  ///< one of heads_of()
  attention::Stage stage = attention::Stage::Weights;
};

/// What is written of a stage, by layer, batch item and head.
std::vector<MatrixRef> matrices_of(const ExportBlocks& blocks, attention::Stage stage);

/// The labels of a matrix: tokens, or the indices of features.
struct MatrixAxes {
  std::string row_name, column_name;  ///< "query", "key", "token", "feature"
  std::vector<std::string> rows, columns;
};
MatrixAxes matrix_axes(const model::ModelInput& input, const ExportBlocks& blocks, const MatrixRef& matrix);

}  // namespace headlight::app
