#include "app/widgets/tile_numbers.h"

#include "app/cells/step_values.h"

namespace headlight::app {

using attention::Stage;

std::optional<inference::BlockShape::Extent> TileNumbers::extent(Stage stage) const {
  const auto shape = frame_.result.shapes.find(block_);
  return shape == frame_.result.shapes.end() ? std::nullopt : shape->second.extent(stage);
}

TileQuery TileNumbers::region(QuantityId id, std::uint32_t row, std::uint32_t rows, std::uint32_t column,
                              std::uint32_t columns) const {
  return {.quantity = id,
          .block = block_,
          .batch = batch_,
          .head = quantity(id).scope == Scope::Head ? head_ : 0,
          .row = row,
          .rows = rows,
          .column = column,
          .columns = columns,
          .pool = 1};
}

ShownTile TileNumbers::find_exact(const TileQuery& region) const {
  const ShownTile known = find_covering_tile(frame_.result, region);
  const bool is_exact = known.tile && known.query.is_exact() && known.run == frame_.result.run;
  return is_exact ? known : ShownTile();
}

ShownTile TileNumbers::exact_with(const TileQuery& region) {
  const ShownTile known = find_exact(region);
  // A tile on screen is requested by the view that draws it; the thin one must be requested here.
  if (!known.tile || known.query == region) frame_.ask(region);
  return known;
}

NumberSource::Numbers TileNumbers::row(Stage stage, std::uint32_t row) {
  const auto size = extent(stage);
  if (!size || row >= size->rows) return std::nullopt;
  const attention::Tile* tile = tile_with(stage, row, 1, 0, size->columns);
  if (!tile) return std::nullopt;
  std::vector<float> numbers(size->columns);
  for (std::uint32_t column = 0; column < size->columns; ++column)
    numbers[column] = tile->at(row - tile->request.row, column);
  return numbers;
}

NumberSource::Numbers TileNumbers::column(Stage stage, std::uint32_t column) {
  const auto size = extent(stage);
  if (!size || column >= size->columns) return std::nullopt;
  const attention::Tile* tile = tile_with(stage, 0, size->rows, column, 1);
  if (!tile) return std::nullopt;
  std::vector<float> numbers(size->rows);
  for (std::uint32_t row = 0; row < size->rows; ++row) numbers[row] = tile->at(row, column - tile->request.column);
  return numbers;
}

std::optional<float> TileNumbers::value(Stage stage, std::uint32_t row, std::uint32_t column) {
  return value(QuantityId(stage), row, column);
}

std::optional<float> TileNumbers::value(QuantityId map, std::uint32_t row, std::uint32_t column) {
  const auto size = extent(quantity(map).stage);
  if (!size || row >= size->rows || column >= size->columns) return std::nullopt;
  const attention::Tile* tile = exact_with(region(map, row, 1, column, 1)).tile;
  if (!tile) return std::nullopt;
  return tile->at(row - tile->request.row, column - tile->request.column);
}

std::optional<NumberSource::Softmax> TileNumbers::softmax(std::uint32_t row) {
  const auto size = extent(Stage::Weights);
  if (!size || row >= size->rows) return std::nullopt;
  const attention::Tile* tile = tile_with(Stage::Weights, row, 1, 0, 1);
  if (!tile) return std::nullopt;
  const std::size_t index = row - tile->request.row;
  if (index >= tile->row_max.size() || index >= tile->row_sum.size()) return std::nullopt;
  return Softmax{.max = tile->row_max[index], .sum = tile->row_sum[index]};
}

std::optional<TileNumbers::WeightsRow> TileNumbers::weights_row(std::uint32_t row) {
  const auto size = extent(Stage::Weights);
  if (!size || row >= size->rows) return std::nullopt;
  const ShownTile shown = exact_with(region(weights_, row, 1, 0, size->columns));
  const std::size_t index = shown.tile ? row - shown.tile->request.row : 0;
  if (!shown.tile || !shown.facts || index >= shown.facts->rows.size()) return std::nullopt;
  return WeightsRow{.weights = std::span(shown.tile->values).subspan(index * size->columns, size->columns),
                    .statistics = shown.facts->rows[index]};
}

std::optional<float> TileNumbers::received(std::uint32_t key) const {
  const auto size = extent(Stage::Weights);
  if (!size || key >= size->columns) return std::nullopt;
  const ShownTile shown = find_exact(region(weights_, 0, size->rows, key, 1));
  const std::size_t index = shown.tile ? key - shown.tile->request.column : 0;
  if (!shown.tile || !shown.facts || index >= shown.facts->received.size()) return std::nullopt;
  return shown.facts->received[index];
}

NumberSource::Numbers TileNumbers::memory(std::uint32_t row) {
  frame_.ask(MemoryQuery());
  const std::span<const float> numbers = memory_row(frame_, row);
  if (numbers.empty()) return std::nullopt;
  return std::vector<float>(numbers.begin(), numbers.end());
}

}  // namespace headlight::app
