#pragma once

#include "app/cells/arithmetic.h"
#include "app/widgets/shown_tile.h"

namespace headlight::app {

/// One head's numbers, from the tiles on screen or else requested: a row or a column is one thin tile.
class TileNumbers final : public NumberSource {
 public:
  /// `weights`: the head's, or a mean in their place.
  TileNumbers(Frame& frame, model::BlockRef block, std::uint32_t batch, std::uint32_t head,
              QuantityId weights = attention::Stage::Weights)
      : frame_(frame), block_(block), batch_(batch), head_(head), weights_(weights) {}

  Numbers row(attention::Stage stage, std::uint32_t row) override;
  Numbers column(attention::Stage stage, std::uint32_t column) override;
  std::optional<float> value(attention::Stage stage, std::uint32_t row, std::uint32_t column) override;
  /// Of any quantity that has a stage's rows and columns.
  std::optional<float> value(QuantityId map, std::uint32_t row, std::uint32_t column);
  std::optional<Softmax> softmax(std::uint32_t row) override;
  Numbers memory(std::uint32_t row) override;

  /// One query's weights, all keys, and what they amount to; the span is the tile's.
  struct WeightsRow {
    std::span<const float> weights;
    RowStatistics statistics;
  };
  std::optional<WeightsRow> weights_row(std::uint32_t row);
  /// What all queries give to a key, Σ of its column; only where the whole map is known exactly. Requests nothing.
  std::optional<float> received(std::uint32_t key) const;

 private:
  TileQuery region(QuantityId quantity, std::uint32_t row, std::uint32_t rows, std::uint32_t column,
                   std::uint32_t columns) const;
  /// An exact tile of this run that covers the region; nothing when there is none.
  ShownTile find_exact(const TileQuery& region) const;
  /// Likewise; asks for exactly that region when there is none.
  ShownTile exact_with(const TileQuery& region);
  const attention::Tile* tile_with(attention::Stage stage, std::uint32_t row, std::uint32_t rows, std::uint32_t column,
                                   std::uint32_t columns) {
    return exact_with(region(stage, row, rows, column, columns)).tile;
  }
  std::optional<inference::BlockShape::Extent> extent(attention::Stage stage) const;

  Frame& frame_;
  model::BlockRef block_;
  std::uint32_t batch_, head_;
  QuantityId weights_;
};

}  // namespace headlight::app
