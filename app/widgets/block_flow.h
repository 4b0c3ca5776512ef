#pragma once

#include "app/frame.h"
#include "app/widgets/block_layout.h"
#include "app/widgets/block_walk.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/shown_tile.h"

namespace headlight::app {

/// A cell of one of the layer's matrices.
struct PointedCell {
  const BlockNode* node = nullptr;  ///< null: none
  attention::Cell cell;
};

/// A layer's matrices as a view draws them.
struct BlockFlow {
  const BlockPlan& plan;
  BlockLayout layout;
  const BlockWalk& walk;                   ///< only what it has come to is drawn
  std::string_view name;                   ///< of the items: "block.scores"
  const BlockNode* opened = nullptr;       ///< stands on a ground, and its inputs have frames; null: none
  std::span<const MatrixPart> parts = {};  ///< outlined
  std::optional<PointedCell> marked = {};  ///< the cell that is made of the parts, in a frame as well
};

/// Returns the colour of the matrix' role.
shell::Color color_of_node(const BlockNode& node, const shell::Theme& theme);

/// Draws every matrix as a small heatmap, with lines between them, as far as the walk has come. Returns the cell under the
/// pointer, whose sources are outlined; a click on a matrix unfolds it. `hovered`: id of the matrix under the pointer, kept
/// from frame to frame.
PointedCell draw_block_flow(Frame& frame, const HeadSubject& subject, const BlockFlow& flow, std::string& hovered);

/// Are the matrices drawn as differences? All are or none: between a capture and a network's run only weights could be.
bool compares_matrices(const Frame& frame);

/// Returns the query for cells of a matrix, or for what changed of them where the matrices are drawn as differences.
TileQuery node_cells(const Frame& frame, const BlockNode& node, const chart::Region& region);
/// Returns the query for a matrix that is drawn in `area`, UI units.
TileQuery node_query(const Frame& frame, const HeadSubject& subject, const BlockNode& node, glm::vec2 area);

/// Draws the node's matrix as a small heatmap in `area`, of which only `clip` is drawn. `place` names the use: one node may
/// be drawn twice in a frame. Returns the range of its colours, "±3.2"; "" while it isn't known, or is of means of cells.
std::string draw_node_heatmap(Frame& frame, const HeadSubject& subject, const BlockNode& node, const chart::Rect& area,
                              const chart::Rect& clip, std::uint32_t place);

}  // namespace headlight::app
