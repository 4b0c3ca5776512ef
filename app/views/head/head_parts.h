#pragma once

#include "app/frame.h"
#include "attention/mask.h"
#include "view/ellipsis.h"
#include "view/rect.h"

namespace headlight::app {

// What the view Head draws above and over its map.

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

/// The tooltip of a cell of the selected head's map, or of a mean: both tokens, weight, scores, why it is masked, the row's
/// largest weight and entropy, and what the key receives in all. Requests the exact rows that it reads.
void draw_map_tooltip(Frame& frame, attention::Cell cell, const view::Rect& box);

/// The tokens along the map's sides.
struct MapTokens {
  const std::vector<std::string>* queries = nullptr;  ///< may be null
  const std::vector<std::string>* keys = nullptr;
  bool are_same = false;  ///< both sides are one sequence
};

/// While the search is open, a line with its field, what was found and buttons; Enter and the commands go on to the next
/// token, whose row and column are pinned. Draws at the cursor of the current window.
void draw_token_search(Frame& frame, const MapTokens& tokens);

/// What Transient::seeks_strongest asks: the tiles that the answer needs are asked for, and when they are known the cell is
/// pinned and shown.
void follow_strongest(Frame& frame, std::uint32_t rows, std::uint32_t columns);

}  // namespace headlight::app
