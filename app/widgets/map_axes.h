#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/frame.h"
#include "attention/mask.h"
#include "view/viewport.h"

namespace headlight::app {

/// The tokens on one side of a map; `real` of them are no padding.
struct AxisTokens {
  const std::vector<std::string>* texts = nullptr;  ///< may be null or shorter than the map: then numbers stand there
  std::uint32_t count = 0;
  attention::KeyRange real = 0;
  const char* name = "";  ///< of the axis: "query", "key"

  std::string label(std::uint32_t index) const;
};

/// Space that labels and the axes' names need left of and above the cells, UI units.
struct AxisMargins {
  float left = 0.0F, top = 0.0F;
};
/// `room`: for labels and cells together. Depends on nothing that moves with zoom or pointer, so that the map stands still.
AxisMargins measure_axes(const Frame& frame, const AxisTokens& queries, const AxisTokens& keys, const view::Rect& room);

/// A row and a column whose labels are set off and always there.
struct MarkedLabels {
  std::optional<std::uint32_t> query, key;
};

/// Labels of the rows and columns in sight: level where they fit, else slanted, else upright, thinned out with their numbers
/// where not every one has room; never on top of each other.
void draw_axes(const Frame& frame, const view::Viewport& viewport, const AxisMargins& margins, const AxisTokens& queries,
               const AxisTokens& keys, const MarkedLabels& marked);

}  // namespace headlight::app
