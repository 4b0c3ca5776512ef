#pragma once

#include "app/views/head/map_heatmap.h"
#include "app/widgets/range_bar.h"

namespace headlight::app {

inline constexpr float kBarRoom = 104.0F;  // right of a map: colour bar and legend, and the last slanted labels
inline constexpr float kBarWidth = 14.0F;
inline constexpr float kBarDrop = 24.0F;  // the bar's caption is beside the map, below the slanted labels
inline constexpr float kLegendDrop = 14.0F;

/// Below the colour bar: its range and scale, what to do when it shows next to nothing, what the stripes and the colour of
/// what isn't a number mean, and the zoom while there is one.
class MapLegend {
 public:
  MapLegend(Frame& frame, const MapHeatmap& heatmap, float zoom);

  float height() const;
  void draw(glm::vec2 at);

 private:
  bool is_zoomed() const { return zoom_ > 1.001F; }
  void draw_scale(glm::vec2 at);
  float draw_hint(glm::vec2 at);

  Frame& frame_;
  std::optional<RangeHint> hint_;
  std::vector<std::string> hint_lines_;
  std::optional<RangeChoice> range_;
  bool has_scale_, has_masked_cells_, has_odd_cells_;
  float zoom_;
};

}  // namespace headlight::app
