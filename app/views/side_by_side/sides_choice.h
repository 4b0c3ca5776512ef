#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Returns the head that is on the right where SideMap::OtherHead is chosen: the one that the user chose, as far as the
/// network has it, else the one whose weights differ most from the selected head's, as soon as that is known. The run must
/// have the selected block.
HeadRef other_head(Frame& frame);

/// Draws a line of controls: what is on the right, and with another head the steps to its neighbours and the exchange of
/// both sides. `other`: on the right now.
void choose_sides(Frame& frame, const HeadRef& other);

/// The weight that two maps of equal shape have in common.
struct SharedWeight {
  double mean = 0.0;              ///< over the queries: Σ over keys of the smaller of both weights, 1 where rows are equal
  double least = 1.0;             ///< the least of a row …
  std::uint32_t least_at = 0;     ///< … and its query
  std::uint32_t left_out = 0;     ///< rows that aren't compared …
  bool leaves_out_first = false;  ///< … and whether the first is one of them
};
/// Compares the rows of `queries` that have weights for two keys or more, of one map or both: a row with one key has no
/// choice. nullopt where no row has.
std::optional<SharedWeight> shared_weight(const attention::Tile& left, const attention::Tile& right,
                                          attention::KeyRange queries);

}  // namespace headlight::app
