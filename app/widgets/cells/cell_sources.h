#pragma once

#include <cstdint>
#include <vector>

#include "app/widgets/cells/step_matrix.h"
#include "attention/stage.h"
#include "inference/session.h"
#include "model/config.h"

namespace headlight::app {

/// A rectangle of one matrix, in cells.
struct MatrixPart {
  StepMatrix stage = attention::Stage::X;
  std::uint32_t row = 0, rows = 1;
  std::uint32_t column = 0, columns = 1;

  bool operator==(const MatrixPart&) const = default;
};

/// The attention whose calculation is shown: sizes, its merge order, and the selected head.
struct BlockGeometry {
  inference::BlockShape shape;
  model::MergeOrder merge = model::MergeOrder::Concatenate;
  bool is_self = true;  ///< queries and keys come from the same X
  std::uint32_t head = 0;
  bool has_weights = false;  ///< Q, K, V and output are products with W_Q … W_O
  /// Q and K are normed or RoPE-rotated after the product, so that a component depends on all columns of the weight.
  bool is_rotated = false;
};

/// The cell of stage Heads that a cell of stage Merged is a copy of.
struct MergedOrigin {
  std::uint32_t head = 0, token = 0, dimension = 0;
};
MergedOrigin origin_of_merged(const BlockGeometry& geometry, std::uint32_t row, std::uint32_t column);

/// Returns the head's output in Merged: d_v columns, or with MergeOrder::WithoutTranspose a run of the row-major order,
/// which is up to three rectangles.
std::vector<MatrixPart> head_slices(const BlockGeometry& geometry);

/// Returns the inputs of a cell, one step back: the rows, columns and cells of the previous matrices. Empty for X, the
/// memory and weights, and for a merged cell of another head.
std::vector<MatrixPart> sources_of(const BlockGeometry& geometry, attention::Stage stage, std::uint32_t row,
                                   std::uint32_t column);

}  // namespace headlight::app
