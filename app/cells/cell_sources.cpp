#include "app/cells/cell_sources.h"

#include <algorithm>

namespace headlight::app {

using attention::Stage;

std::uint32_t kv_head_of(const inference::BlockShape& shape, std::uint32_t head) {
  return head / std::max(shape.heads / std::max(shape.kv_heads, 1U), 1U);
}

MergedOrigin origin_of_merged(const BlockGeometry& geometry, std::uint32_t row, std::uint32_t column) {
  const std::uint32_t d_v = std::max(geometry.shape.d_v, 1U);
  if (geometry.merge == model::MergeOrder::Concatenate) {
    return {.head = column / d_v, .token = row, .dimension = column % d_v};
  }
  const std::uint64_t flat = std::uint64_t{row} * geometry.shape.d_merged + column;  // of [head, token, d_v]
  const std::uint64_t per_head = std::max<std::uint64_t>(std::uint64_t{geometry.shape.queries} * d_v, 1);
  return {.head = static_cast<std::uint32_t>(flat / per_head),
          .token = static_cast<std::uint32_t>(flat % per_head / d_v),
          .dimension = static_cast<std::uint32_t>(flat % d_v)};
}

std::vector<MatrixPart> head_slices(const BlockGeometry& geometry) {
  const inference::BlockShape& shape = geometry.shape;
  if (geometry.merge == model::MergeOrder::Concatenate) {
    return {{.stage = Stage::Merged, .rows = shape.queries, .column = geometry.head * shape.d_v, .columns = shape.d_v}};
  }
  const std::uint64_t width = std::max(shape.d_merged, 1U);
  const std::uint64_t per_head = std::uint64_t{shape.queries} * shape.d_v;
  const std::uint64_t end = (geometry.head + 1) * per_head;
  std::vector<MatrixPart> parts;
  for (std::uint64_t at = geometry.head * per_head; at < end;) {
    const std::uint64_t column = at % width;
    // Whole rows as one rectangle; partial rows separately.
    const std::uint64_t whole_rows = column == 0 ? (end - at) / width : 0;
    const std::uint64_t columns = whole_rows > 0 ? width : std::min(width - column, end - at);
    const std::uint64_t rows = std::max<std::uint64_t>(whole_rows, 1);
    parts.push_back({.stage = Stage::Merged,
                     .row = static_cast<std::uint32_t>(at / width),
                     .rows = static_cast<std::uint32_t>(rows),
                     .column = static_cast<std::uint32_t>(column),
                     .columns = static_cast<std::uint32_t>(columns)});
    at += rows * columns;
  }
  return parts;
}

namespace {

/// The matrix from which keys and values are projected.
StepMatrix memory_of(const BlockGeometry& geometry) {
  return geometry.is_self ? StepMatrix(Stage::X) : StepMatrix(StepMatrix::Other::Memory);
}

/// A row of the input, and the column of the weight or all of its columns.
std::vector<MatrixPart> projected_from(const BlockGeometry& geometry, StepMatrix input, StepMatrix weight, std::uint32_t row,
                                       std::uint32_t column) {
  const inference::BlockShape& shape = geometry.shape;
  if (!shape.has_input) return {};
  std::vector<MatrixPart> parts = {{.stage = input, .row = row, .columns = shape.d_model}};
  if (!geometry.has_weights) return parts;
  const bool is_value = weight == StepMatrix::Other::ValueWeight;
  const bool needs_all = geometry.is_rotated && !is_value;
  parts.push_back(
      {.stage = weight, .rows = shape.d_model, .column = needs_all ? 0 : column, .columns = needs_all ? shape.d_k : 1});
  return parts;
}

}  // namespace

std::vector<MatrixPart> sources_of(const BlockGeometry& geometry, Stage stage, std::uint32_t row, std::uint32_t column) {
  const inference::BlockShape& shape = geometry.shape;
  const auto row_of = [](StepMatrix of, std::uint32_t index, std::uint32_t columns) {
    return MatrixPart{.stage = of, .row = index, .columns = columns};
  };
  const auto column_of = [](StepMatrix of, std::uint32_t rows, std::uint32_t index) {
    return MatrixPart{.stage = of, .rows = rows, .column = index};
  };
  const auto cell_of = [](Stage of, std::uint32_t at_row, std::uint32_t at_column) {
    return MatrixPart{.stage = of, .row = at_row, .column = at_column};
  };
  const std::uint32_t width = shape.d_output > 0 ? shape.d_output : shape.d_merged;  // of the residual stream
  const Stage added = shape.d_output > 0 ? Stage::Output : Stage::Merged;
  const Stage read = shape.is_parallel ? Stage::Residual : Stage::Attended;
  const auto inner_from = [&](StepMatrix::Other weight) -> std::vector<MatrixPart> {
    return {row_of(shape.norms_ffn_input ? Stage::FfnInput : read, row, width), column_of(weight, width, column)};
  };
  switch (stage) {
    case Stage::Residual:
      return {};
    case Stage::X:
      if (!shape.has_residual) return {};
      return {shape.norms_input ? row_of(Stage::Residual, row, shape.d_model) : cell_of(Stage::Residual, row, column)};
    case Stage::Attended:
      if (shape.norms_sum) return {row_of(Stage::AttentionSum, row, width)};
      [[fallthrough]];
    case Stage::AttentionSum:
      return {cell_of(Stage::Residual, row, column), cell_of(added, row, column)};
    case Stage::FfnInput:
      return {row_of(read, row, width)};
    case Stage::FfnRouter:
      return inner_from(StepMatrix::Other::RouterWeight);
    case Stage::FfnGates:
      return {row_of(Stage::FfnRouter, row, shape.experts)};
    case Stage::FfnGate:
      return inner_from(StepMatrix::Other::GateWeight);
    case Stage::FfnHidden:
      return inner_from(StepMatrix::Other::HiddenWeight);
    case Stage::FfnActive:
      if (shape.has_gate) return {cell_of(Stage::FfnGate, row, column), cell_of(Stage::FfnHidden, row, column)};
      return {cell_of(Stage::FfnHidden, row, column)};
    case Stage::FfnOutput:
      if (shape.experts > 0) {
        return {row_of(shape.norms_ffn_input ? Stage::FfnInput : read, row, width),
                row_of(Stage::FfnGates, row, shape.experts)};
      }
      return {row_of(Stage::FfnActive, row, shape.d_ff), column_of(StepMatrix::Other::FfnWeight, shape.d_ff, column)};
    case Stage::Next:
      if (shape.norms_ffn_sum) return {row_of(Stage::FfnSum, row, width)};
      [[fallthrough]];
    case Stage::FfnSum:
      return {cell_of(Stage::Attended, row, column), cell_of(Stage::FfnOutput, row, column)};
    case Stage::Q:
      return projected_from(geometry, Stage::X, StepMatrix::Other::QueryWeight, row, column);
    case Stage::K:
      return projected_from(geometry, memory_of(geometry), StepMatrix::Other::KeyWeight, row, column);
    case Stage::V:
      return projected_from(geometry, memory_of(geometry), StepMatrix::Other::ValueWeight, row, column);
    case Stage::Scores:
      return {row_of(Stage::Q, row, shape.d_k), row_of(Stage::K, column, shape.d_k)};
    case Stage::ContentPosition:
      return {row_of(Stage::Q, row, shape.d_k)};
    case Stage::PositionContent:
      return {row_of(Stage::K, column, shape.d_k)};
    case Stage::Scaled: {
      std::vector<MatrixPart> parts = {cell_of(Stage::Scores, row, column)};
      if (shape.has_content_position) parts.push_back(cell_of(Stage::ContentPosition, row, column));
      if (shape.has_position_content) parts.push_back(cell_of(Stage::PositionContent, row, column));
      return parts;
    }
    case Stage::Masked:
      return {cell_of(Stage::Scaled, row, column)};
    case Stage::Weights:
      return {row_of(Stage::Masked, row, shape.keys)};
    case Stage::Heads:
      return {row_of(Stage::Weights, row, shape.keys), column_of(Stage::V, shape.keys, column)};
    case Stage::Merged: {
      const MergedOrigin origin = origin_of_merged(geometry, row, column);
      if (origin.head != geometry.head) return {};
      return {cell_of(Stage::Heads, origin.token, origin.dimension)};
    }
    case Stage::Output: {
      std::vector<MatrixPart> parts = {row_of(Stage::Merged, row, shape.d_merged)};
      if (geometry.has_weights) {
        parts.push_back(column_of(StepMatrix::Other::OutputWeight, shape.d_merged, column));
      }
      return parts;
    }
  }
  return {};
}

}  // namespace headlight::app
