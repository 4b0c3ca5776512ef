#pragma once

#include "export/figure_frame.h"
#include "view/value_scale.h"

namespace headlight::exporting {

/// An upright colour bar with ticks at its right and its title beside them.
class ColorBar {
 public:
  /// `height` is the map's; the bar is at least as high as its title.
  ColorBar(const view::ValueScale& scale, const FigureStyle& style, const std::string& title, float height,
           const TextMetrics& metrics);

  float width() const { return width_; }  ///< with ticks and title
  float height() const { return height_; }
  void draw(Canvas& canvas, glm::vec2 top_left, const Paper& paper) const;

 private:
  view::ValueScale scale_;
  view::ColorMap color_map_;
  std::string title_;
  std::vector<view::Tick> ticks_;
  float height_ = 0.0F;
  float tick_width_ = 0.0F;
  float width_ = 0.0F;
};

/// The scale over all values of a map, as its style asks.
view::ValueScale scale_of(const FigureMap& map, const FigureStyle& style);

}  // namespace headlight::exporting
