#include "app/exports/export_plan.h"

#include "app/quantities/shown_map.h"
#include "export/csv.h"

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

void write_rows(const std::filesystem::path& path, const MatrixAxes& axes, const ReadRows& read) {
  AtomicFile file(path);
  const std::string corner = axes.column_name.empty() ? axes.row_name : axes.row_name + "/" + axes.column_name;
  exporting::CsvWriter writer(exporting::sink_of(file), corner, axes.columns);
  const std::size_t columns = axes.columns.size();
  std::size_t row = 0;
  read([&](std::span<const float> values) {
    for (; !values.empty(); values = values.subspan(columns)) writer.append_row(axes.rows.at(row++), values.first(columns));
  });
  file.finish();
}

void write_matrix_text(const ExportWork& work, const ExportBlocks& blocks, const MatrixRef& matrix,
                       const std::filesystem::path& path) {
  const inference::BlockShape::Extent extent = extent_of(blocks, matrix.stage);
  write_rows(path, matrix_axes(*work.source.input, blocks, matrix), [&](const UseRows& use) {
    std::uint32_t first = 0;
    for (const TileQuery& part : selected_parts(blocks, matrix.block, matrix.stage, matrix.batch, matrix.head)) {
      read_strips(work.runs(), part, [&](const attention::Tile& strip) {
        work.checkpoint(static_cast<double>(first) / static_cast<double>(std::max(extent.rows, 1U)));
        use(strip.values);
        first += strip.request.rows;
      });
    }
  });
}

}  // namespace headlight::app
