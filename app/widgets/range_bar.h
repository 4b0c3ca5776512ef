#pragma once

#include <optional>
#include <string>

#include "app/frame.h"
#include "app/shell/heatmap_renderer.h"
#include "app/widgets/shown_tile.h"
#include "view/value_scale.h"

namespace headlight::app {

/// The selected map's colour bar, whose ends the user moves: dragging an end moves it along the values, the wheel moves the
/// top (of scores both ends), a double click fits the map again. Changes view.color_limits of `stage`.
struct RangeBar {
  view::Rect area;  ///< of the colours; ticks are at its right
  attention::Stage stage = attention::Stage::Weights;
  const char* caption = "";
  bool is_fixed = false;  ///< the range can't be changed: each row has its own
};
/// `image`: colours and range as the map's cells have them.
void draw_range_bar(Frame& frame, const RangeBar& bar, const shell::HeatmapImage& image);

/// Why a map is hardly visible in its range, and limits that would show more; none: the map's own.
struct RangeHint {
  std::string text;  ///< "98 % are below 0.02", "the largest is 0.02"
  std::optional<view::ValueLimits> fit;
};

/// The weight that 98 % of a tile's visible ones are at most, from some thousands, evenly spaced: computed once for each
/// tile that is asked for, and kept until another one is.
class HighWeight {
 public:
  /// nullopt where fewer than 16 of them are visible and finite.
  std::optional<float> of(const ShownTile& shown_tile);
  /// How often a tile's cells were read.
  std::uint64_t evaluations() const { return evaluations_; }

 private:
  TileQuery query_;
  std::uint64_t revision_ = 0;  ///< of the tile's values
  std::optional<float> weight_;
  std::uint64_t evaluations_ = 0;
};

/// Of a tile of weights; nullopt where the range shows them well.
std::optional<RangeHint> range_hint(const ShownTile& shown_tile, const shell::HeatmapImage& image, bool has_limits,
                                    HighWeight& high_weight);

}  // namespace headlight::app
