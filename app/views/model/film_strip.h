#pragma once

#include "app/widgets/head_tools.h"

namespace headlight::app {

/// Sliders through layers, heads and tokens beside the selected head's map: a film of the model. Moving one computes
/// nothing: a map's rows below the chosen token are covered, which shows what the model had attended to when the text ended
/// there.
class FilmStrip {
 public:
  /// Returns the height of the strip in a view with so much room, UI units.
  static float height(float room);
  /// Draws at the cursor, as wide as the region: the map, if `height` has room for it, and the sliders beside it.
  void draw(Frame& frame, float height);
  /// Draws into what is left of the region: the map with its tokens, as large as fits, and below it the sliders.
  void draw_column(Frame& frame);
  /// Keys: comma and full stop go to the token before and after.
  void handle_keys(Frame& frame);
  /// Covers the rows of a thumbnail that come after the chosen token.
  void cover(Frame& frame, model::BlockRef block, const chart::Rect& box) const;

 private:
  /// Forgets a token that the text no longer has.
  void follow_text(const Frame& frame);
  void draw_token_slider(Frame& frame, float width);
  void draw_map(Frame& frame, const chart::Rect& box) const;
  /// Draws the three sliders, `place` before each of them.
  void draw_sliders(Frame& frame, float width, const std::function<void(float index)>& place);

  std::optional<std::uint32_t> token_;  ///< the last row that is shown; none: all are
};

}  // namespace headlight::app
