#pragma once

#include "app/frame.h"

namespace headlight::app {

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
