#pragma once

#include <string>

#include "app/frame.h"
#include "view/ellipsis.h"

namespace headlight::app {

/// Above the map: which head it is, how the map is computed, and the choice of its stage.
void draw_head_header(Frame& frame);

/// What the header tells of the map beside its title. All but the kind may be empty.
struct HeadAbout {
  std::string kind = {};                           ///< of attention
  std::string sizes = {};                          ///< "12 × 12"
  std::string line = {};                           ///< "line 1 of 2"
  std::string grouping = {}, brief_grouping = {};  ///< what the numbers of a grouped map are, and in few words

  std::string text() const;
  bool operator==(const HeadAbout&) const = default;
};

/// The text, as much of it as `room` takes. The grouping is told in few words first; then the sizes are left out, which the
/// map shows, then the grouping, which its list shows, then the line; "…" is behind what is left. The kind is cut last.
std::string fit_about(const HeadAbout& about, float room, const view::MeasureText& measure);

}  // namespace headlight::app
