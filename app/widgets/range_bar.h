#pragma once

#include "app/frame.h"
#include "app/widgets/cell_grid.h"
#include "app/widgets/shown_tile.h"

namespace headlight::app {

/// The selected map's colour bar, whose ends the user moves: dragging an end moves it along the values, the wheel moves the
/// top (of scores both ends), a double click fits the map again. Changes view.color_limits of `stage`.
struct RangeBar {
  chart::Rect area;  ///< of the colours; ticks are at its right
  attention::Stage stage = attention::Stage::Weights;
  const char* caption = "";
  bool is_fixed = false;  ///< the range can't be changed: each row has its own
  float largest = 0.0F;   ///< that is shown; the end's tick says so where it is above the end
};
/// Draws the bar with its range. `image`: colours and range as the map's cells have them.
void draw_range_bar(Frame& frame, const RangeBar& bar, const shell::HeatmapImage& image);

/// A hint that a map's colours leave values out or don't use the whole range, and another range, which a click sets in place
/// of what is fixed.
struct RangeHint {
  std::string text;       ///< "98 % are below 0.02, the largest is 1"
  const char* link = "";  ///< what a click does
  ColorRange range = ColorRange::Largest;
};

/// Returns the hint for a tile of weights; nullopt where the range shows all of them well.
std::optional<RangeHint> range_hint(const State& state, const ShownTile& shown_tile, const shell::HeatmapImage& image);

/// Draws a flat colour bar with its range's ends, and zero where the range has both signs; labels are below `bar`. The
/// colours and the range are the image's, so that bar and cells agree. `largest`: as a RangeBar's.
void draw_small_color_bar(const Frame& frame, const chart::Rect& bar, const shell::HeatmapImage& image,
                          float largest = 0.0F);

/// Returns the scale of maps of weights of which each has a range of its own, or of what is shown in their place.
ColorScale scale_of_maps(const Frame& frame);

/// Draws an upright colour bar from `axis.low` to `axis.high`, largest value on top, with round ticks at its right and a
/// caption above. The colours are the image's, whose range may differ while the user changes it. `largest`: as a RangeBar's.
void draw_color_bar(const Frame& frame, const chart::Rect& bar, const shell::HeatmapImage& image,
                    const chart::ValueLimits& axis, const char* caption, float largest = 0.0F);

/// The origin of the ends of a map's colour bar: the map's largest value; the row's largest weight in each row; values that
/// the user fixed for the stage, which are the same for all heads, layers and texts; or what 98 % of the weights are at
/// most.
enum class RangeKind : std::uint8_t { WholeMap, PerRow, Fixed, Quantile };
RangeKind range_kind(const State& state, attention::Stage stage);
/// Returns "colours fixed from 0 to 0.0033", of weights, which thumbnails show too, or of the shown stage; empty: neither is
/// fixed.
std::string fixed_range_text(const State& state);

/// Chooses between them, below a colour bar: a list, and of fixed values fields to type them into.
class RangeChoice {
 public:
  /// Makes the choice. `shown`: the range of the bar, which Fixed begins with.
  RangeChoice(Frame& frame, attention::Stage stage, chart::ValueLimits shown)
      : frame_(frame), stage_(stage), shown_(shown) {}

  float height() const;
  void draw(glm::vec2 at);

 private:
  void choose(RangeKind kind);
  void type_ends(glm::vec2 at);

  Frame& frame_;
  attention::Stage stage_;
  chart::ValueLimits shown_;
};

}  // namespace headlight::app
