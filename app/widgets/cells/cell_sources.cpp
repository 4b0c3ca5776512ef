#include "app/widgets/cells/cell_sources.h"

#include <algorithm>

namespace headlight::app {

using attention::Stage;

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

std::vector<MatrixPart> sources_of(const BlockGeometry& geometry, Stage stage, std::uint32_t row, std::uint32_t column) {
  using attention::LayerOperation;
  const inference::BlockShape& shape = geometry.shape;
  const attention::LayerGraph graph(shape, geometry.is_self ? model::BlockKind::EncoderSelf : model::BlockKind::Cross);
  const attention::LayerNode* node = graph.find(stage);
  if (node == nullptr) return {};
  const std::span<const Stage> inputs = node->inputs();
  const auto width_of = [&](Stage of) { return shape.extent(of).value_or(inference::BlockShape::Extent()).columns; };
  const auto row_of = [&](Stage of, std::uint32_t index) {
    return MatrixPart{.stage = of, .row = index, .columns = width_of(of)};
  };
  std::vector<MatrixPart> parts;
  switch (node->operation) {
    case LayerOperation::Given:
      break;
    case LayerOperation::Same:
    case LayerOperation::Scale:
    case LayerOperation::Mask:
    case LayerOperation::Activate:
    case LayerOperation::Add:
      for (const Stage of : inputs) parts.push_back({.stage = of, .row = row, .column = column});
      break;
    case LayerOperation::Norm:
    case LayerOperation::Softmax:
    case LayerOperation::Route:
    case LayerOperation::Experts:
      for (const Stage of : inputs) parts.push_back(row_of(of, row));
      break;
    case LayerOperation::Linear: {
      const bool reads_memory = node->reads_memory;
      const StepMatrix input = reads_memory ? StepMatrix(StepMatrix::Other::Memory) : StepMatrix(inputs[0]);
      const std::uint32_t width = reads_memory ? shape.d_model : width_of(inputs[0]);
      parts.push_back({.stage = input, .row = row, .columns = width});
      if (!geometry.has_weights) break;
      const bool needs_all = geometry.is_rotated && (stage == Stage::Q || stage == Stage::K);
      parts.push_back({.stage = *node->weight,
                       .rows = width,
                       .column = needs_all ? 0 : column,
                       .columns = needs_all ? node->extent.columns : 1});
      break;
    }
    case LayerOperation::Dot:
      return {row_of(inputs[0], row), row_of(inputs[1], column)};
    case LayerOperation::Distance:
      return {row_of(inputs[0], inputs[0] == Stage::Q ? row : column)};
    case LayerOperation::Mix:
      return {row_of(inputs[0], row), {.stage = inputs[1], .rows = shape.keys, .column = column}};
    case LayerOperation::Merge: {
      const MergedOrigin origin = origin_of_merged(geometry, row, column);
      if (origin.head == geometry.head) parts = {{.stage = inputs[0], .row = origin.token, .column = origin.dimension}};
      break;
    }
  }
  return parts;
}

}  // namespace headlight::app
