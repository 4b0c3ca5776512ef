#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chart/viewport.h"
#include "export/drawing.h"

namespace headlight::bench {

/// What a device reaches, against what it could: arithmetic (GFLOP/s) over arithmetic intensity (FLOP for each byte that
/// must be moved), both axes logarithmic (Williams, Waterman and Patterson 2009). Flat roofs are arithmetic, sloped ones
/// memory.
struct RooflineFigure {
  struct Roof {
    std::string name;
    double rate = 0.0;  ///< GFLOP/s, or of memory GB/s; above 0
  };
  struct Dot {
    double intensity = 0.0, gflops = 0.0;  ///< both above 0
    std::string label;
    std::uint32_t series = 0;  ///< index into `series`, which gives its colour
  };

  std::string title;
  std::string subtitle;  ///< long ones are wrapped
  std::vector<Roof> arithmetic, memory;
  std::vector<std::string> series;
  std::vector<Dot> dots;
  bool is_dark = false;
};

/// Where a dot's label is: its box, beside the dot or at the end of a line from it.
struct PlacedLabel {
  std::size_t dot = 0;
  chart::Rect box;
};
/// Labels of these widths and height for dots at these points, inside of `area`: none meets another one, a dot, or an
/// `obstacle` (a point). A label without room is left out.
std::vector<PlacedLabel> place_labels(const std::vector<glm::vec2>& dots, const std::vector<float>& widths, float height,
                                      const chart::Rect& area, const std::vector<glm::vec2>& obstacles);

/// Throws Error where a number isn't above 0, a dot's series doesn't exist, or there is no roof of a kind.
std::unique_ptr<exporting::Drawing> make_drawing(RooflineFigure figure);

}  // namespace headlight::bench
