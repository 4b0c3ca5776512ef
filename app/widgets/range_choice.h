#pragma once

#include <glm/vec2.hpp>

#include "app/frame.h"
#include "view/value_scale.h"

namespace headlight::app {

/// What the ends of a map's colour bar are: a range that fits the map; the row's largest weight in each row; or values that
/// the user fixed for the stage, which are the same for all heads, layers and texts.
enum class RangeKind : std::uint8_t { WholeMap, PerRow, Fixed };
RangeKind range_kind(const ViewChoices& view, attention::Stage stage);
/// "colours fixed from 0 to 0.0033", of weights, which thumbnails show too, or of the shown stage; empty: neither is fixed.
std::string fixed_range_text(const ViewChoices& view);

/// Chooses between them, below a colour bar: a list, and of fixed values fields to type them into.
class RangeChoice {
 public:
  /// `shown`: the range of the bar, which Fixed begins with.
  RangeChoice(Frame& frame, attention::Stage stage, view::ValueLimits shown) : frame_(frame), stage_(stage), shown_(shown) {}

  float height() const;
  void draw(glm::vec2 at);

 private:
  void choose(RangeKind kind);
  void type_ends(glm::vec2 at);

  Frame& frame_;
  attention::Stage stage_;
  view::ValueLimits shown_;
};

}  // namespace headlight::app
