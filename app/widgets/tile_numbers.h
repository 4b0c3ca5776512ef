#pragma once

#include "app/cells/arithmetic.h"
#include "app/frame.h"

namespace headlight::app {

/// One head's numbers, from the tiles on screen or else requested: a row or a column is one thin tile.
class TileNumbers final : public NumberSource {
 public:
  TileNumbers(Frame& frame, model::BlockRef block, std::uint32_t batch, std::uint32_t head)
      : frame_(frame), block_(block), batch_(batch), head_(head) {}

  Numbers row(attention::Stage stage, std::uint32_t row) override;
  Numbers column(attention::Stage stage, std::uint32_t column) override;
  std::optional<float> value(attention::Stage stage, std::uint32_t row, std::uint32_t column) override;
  std::optional<Softmax> softmax(std::uint32_t row) override;
  Numbers memory(std::uint32_t row) override;

 private:
  /// An exact tile of this run that covers the region; requests exactly that region when there is none.
  const attention::Tile* tile_with(attention::Stage stage, std::uint32_t row, std::uint32_t rows, std::uint32_t column,
                                   std::uint32_t columns);
  std::optional<inference::BlockShape::Extent> extent(attention::Stage stage) const;

  Frame& frame_;
  model::BlockRef block_;
  std::uint32_t batch_, head_;
};

}  // namespace headlight::app
