#pragma once

#include "app/views/block/block_figure.h"
#include "app/views/block/block_walk.h"
#include "app/views/view.h"

namespace headlight::app {

/// What the block view keeps from frame to frame.
struct BlockMemory {
  BlockWalk walk;
  bool shows_all_terms = false;
  std::string hovered;                      ///< id of the matrix under the pointer in the previous frame
  std::optional<attention::Cell> held;      ///< of the unfolded matrix: its calculation stays when the pointer leaves
  Selection selection;                      ///< that the held cell is of
  std::optional<std::size_t> step_in_view;  ///< of the walk, to which the flow was scrolled
  glm::vec2 room{1'000.0F, 500.0F};         ///< of the whole flow when it was drawn last
  BlockFigure figure;                       ///< of the last frame
};

/// One layer as data flow, from the residual stream through attention and the MLP back to it, with a heatmap of real numbers
/// for each matrix. A click unfolds one; the walk shows step by step how they are made.
void draw_block_panel(Frame& frame, BlockMemory& memory);

/// Folds the unfolded matrix; false: none is.
bool fold_block(State& state);

std::unique_ptr<ViewPanel> open_block_view();

}  // namespace headlight::app
