#include "app/exports/export_plan.h"

#include "app/quantities/shown_map.h"

namespace headlight::app {
namespace {

using attention::Stage;

void keep(std::vector<std::string>& names, const IndexSet& indices) {
  std::vector<std::string> kept;
  for (const IndexRange& range : indices.ranges())
    kept.insert(kept.end(), names.begin() + range.first, names.begin() + range.end);
  names = std::move(kept);
}

}  // namespace

std::vector<MatrixRef> matrices_of(const ExportBlocks& blocks, Stage stage) {
  std::vector<MatrixRef> matrices;
  for (const model::BlockRef block : blocks.layers) {
    for (std::uint32_t item = blocks.batch.first; item < blocks.batch.end; ++item) {
      for (const std::uint32_t head : heads_of(blocks, stage))
        matrices.push_back({.block = block, .batch = item, .head = head, .stage = stage});
    }
  }
  return matrices;
}

MatrixAxes matrix_axes(const model::ModelInput& input, const ExportBlocks& blocks, const MatrixRef& matrix) {
  const Quantity& written = quantity(quantity_of(blocks, matrix.stage));
  const bool rows_are_keys = written.rows == Axis::KeyToken;
  const model::TokenBatch& row_tokens = rows_are_keys ? input.keys(blocks.kind) : input.queries(blocks.kind);
  const bool is_map = written.is_map();
  MatrixAxes axes;
  axes.row_name = to_string(written.rows);
  axes.column_name = to_string(written.columns);
  axes.rows = row_tokens.texts.at(matrix.batch);
  axes.columns = is_map ? input.keys(blocks.kind).texts.at(matrix.batch)
                        : exporting::index_names(blocks.shape.extent(matrix.stage)->columns);
  if (is_map) {
    keep(axes.rows, blocks.queries);
    keep(axes.columns, blocks.keys);
  } else if (const IndexRange& line = rows_are_keys ? blocks.line_keys : blocks.line_queries; line.count() > 0) {
    keep(axes.rows, line);
  }
  return axes;
}

MatrixText::MatrixText(const std::filesystem::path& path, MatrixAxes axes)
    : axes_(std::move(axes)),
      file_(path),
      writer_(exporting::sink_of(file_), axes_.row_name + (axes_.column_name.empty() ? "" : "/") + axes_.column_name,
              axes_.columns) {}

void MatrixText::append(std::span<const float> values) {
  const std::size_t columns = axes_.columns.size();
  for (; !values.empty(); values = values.subspan(columns)) writer_.append_row(axes_.rows.at(row_++), values.first(columns));
}

Task<void> write_matrix_text(ExportWork& work, const ExportBlocks& blocks, MatrixRef matrix, std::filesystem::path path) {
  const double rows = std::max(extent_of(blocks, matrix.stage).rows, 1U);
  MatrixText text(path, matrix_axes(*work.source.input, blocks, matrix));
  std::uint32_t first = 0;
  for (const TileQuery& part : selected_parts(blocks, matrix.block, matrix.stage, matrix.batch, matrix.head)) {
    for (const TileQuery& query : strips_of(part)) {
      const attention::Tile strip = co_await work.tile(query);
      work.checkpoint(first / rows);
      text.append(strip.values);
      first += strip.request.rows;
    }
  }
  text.finish();
}

}  // namespace headlight::app
