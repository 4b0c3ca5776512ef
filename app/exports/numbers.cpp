#include "app/exports/numbers.h"

#include <algorithm>

#include "app/quantities/shown_map.h"
#include "export/csv.h"
#include "export/npy.h"

namespace headlight::app {
namespace {

using attention::Stage;

/// Of the array with all matrices of a quantity.
std::vector<std::string> axis_names(const Quantity& written) {
  std::vector<std::string> axes = {"layer", "batch"};
  if (written.scope == Scope::Head) axes.emplace_back("head");
  // Tokens of both sides have one name here.
  axes.emplace_back(to_string(written.rows == Axis::KeyToken ? Axis::Token : written.rows));
  axes.emplace_back(to_string(written.columns));
  return axes;
}

/// Of the matrix, what comes before the strip.
double share_before(const attention::Tile& strip, const TileQuery& matrix) {
  return static_cast<double>(strip.request.row - matrix.row) / static_cast<double>(std::max(matrix.rows, 1U));
}

void keep(std::vector<std::string>& names, const AxisRange& range) {
  names = {names.begin() + range.first, names.begin() + range.first + range.count};
}

}  // namespace

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
  }
  return axes;
}

exporting::WrittenStage write_stage_npy(const Runs& runs, const ExportBlocks& blocks, Stage stage,
                                        const std::filesystem::path& path, const Checkpoint& checkpoint) {
  const Quantity& written = quantity(quantity_of(blocks, stage));
  Shape shape = {static_cast<std::uint32_t>(blocks.layers.size()), blocks.batch.count};
  const AxisRange heads = heads_of(blocks, stage);
  if (written.scope == Scope::Head) shape.push_back(heads.count);
  const auto [rows, columns] = extent_of(blocks, stage);
  shape.push_back(rows);
  shape.push_back(columns);
  std::vector<std::string> axes = axis_names(written);
  exporting::NpyFile file(path, shape);
  for (const model::BlockRef block : blocks.layers) {
    for (std::uint32_t batch = 0; batch < blocks.batch.count; ++batch) {
      for (std::uint32_t head = 0; head < heads.count; ++head) {
        const TileQuery matrix = selected_matrix(blocks, block, stage, blocks.batch.first + batch, heads.first + head);
        read_strips(runs, matrix, [&](const attention::Tile& strip) {
          checkpoint(static_cast<double>(file.appended()) / static_cast<double>(std::max<std::size_t>(file.expected(), 1)));
          file.append(strip.values);
        });
      }
    }
  }
  file.finish();
  return {
      .file = path.filename().string(), .stage = path.stem().string(), .shape = std::move(shape), .axes = std::move(axes)};
}

void write_matrix_csv(const Runs& runs, const model::ModelInput& input, const ExportBlocks& blocks, const MatrixRef& matrix,
                      const std::filesystem::path& path, const Checkpoint& checkpoint) {
  const MatrixAxes axes = matrix_axes(input, blocks, matrix);
  AtomicFile file(path);
  exporting::CsvWriter writer(exporting::sink_of(file), axes.row_name + "/" + axes.column_name, axes.columns);
  const TileQuery request = selected_matrix(blocks, matrix.block, matrix.stage, matrix.batch, matrix.head);
  read_strips(runs, request, [&](const attention::Tile& strip) {
    checkpoint(share_before(strip, request));
    const std::span<const float> values = strip.values;
    for (std::uint32_t row = 0; row < strip.request.rows; ++row) {
      writer.append_row(axes.rows.at(strip.request.row - request.row + row),
                        values.subspan(std::size_t{row} * request.columns, request.columns));
    }
  });
  file.finish();
}

void write_matrix_json(const Runs& runs, const model::ModelInput& input, const ExportBlocks& blocks, const MatrixRef& matrix,
                       const std::filesystem::path& path, const Checkpoint& checkpoint) {
  const MatrixAxes axes = matrix_axes(input, blocks, matrix);
  const Quantity& written = quantity(quantity_of(blocks, matrix.stage));
  exporting::Json head = {
      {"stage", blocks.weighs_values || blocks.is_difference ? written.id : std::string(attention::to_string(matrix.stage))},
      {"attention", model::to_string(matrix.block.kind)}};
  if (blocks.mean != HeadMean::Kind) head["layer"] = matrix.block.layer.value;
  head["batch"] = matrix.batch;
  if (blocks.mean != HeadMean::None) {
    head["mean"] = to_string(blocks.mean);
  } else if (attention::is_per_head(matrix.stage)) {
    head["head"] = matrix.head;
  }
  head["axes"] = {axes.row_name, axes.column_name};
  head[axes.row_name] = axes.rows;
  if (attention::is_map(matrix.stage)) head[axes.column_name] = axes.columns;
  const TileQuery request = selected_matrix(blocks, matrix.block, matrix.stage, matrix.batch, matrix.head);
  AtomicFile file(path);
  exporting::JsonTensorWriter writer(exporting::sink_of(file), head, Shape{request.rows, request.columns});
  read_strips(runs, request, [&](const attention::Tile& strip) {
    checkpoint(share_before(strip, request));
    writer.append(strip.values);
  });
  writer.finish();
  file.finish();
}

}  // namespace headlight::app
