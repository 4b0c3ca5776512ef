#pragma once

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

/// What a map's colours leave out or don't use, and another range.
struct RangeHint {
  std::string text;                        ///< "98 % are below 0.02, the largest is 1"
  const char* link = "";                   ///< what a click does
  std::optional<view::ValueLimits> range;  ///< that it sets; none: the range is fitted again
};

/// Of a tile of weights; nullopt where the range shows all of them well. `has_limits`: the user has fixed the range.
std::optional<RangeHint> range_hint(const ShownTile& shown_tile, const shell::HeatmapImage& image, bool has_limits);

}  // namespace headlight::app
