#pragma once

#include "app/views/block/block_matrices.h"
#include "app/views/block/block_walk.h"

namespace headlight::app {

/// A cell of one of the layer's matrices.
struct PointedCell {
  const BlockNode* node = nullptr;  ///< null: none
  attention::Cell cell;
};

/// The colour of the matrix' role.
shell::Color color_of_node(const BlockNode& node, const shell::Theme& theme);

/// Every matrix as a small heatmap, with lines between them, as far as the walk has come. Returns the cell under the
/// pointer, whose sources are outlined; a click on a matrix unfolds it. `hovered`: id of the matrix under the pointer, kept
/// from frame to frame.
PointedCell draw_block_flow(Frame& frame, const HeadSubject& subject, const BlockPlan& plan, const view::Rect& room,
                            const BlockWalk& walk, std::string& hovered);

}  // namespace headlight::app
