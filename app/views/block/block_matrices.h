#pragma once

#include "app/views/block/block_layout.h"
#include "app/widgets/head_subject.h"

namespace headlight::app {

/// Are the matrices drawn as differences? All or none: of a capture and a network's run only weights could be.
bool compares_matrices(const Frame& frame);

/// What is asked for a matrix that is drawn in `area`, UI units.
TileQuery node_query(const Frame& frame, const HeadSubject& subject, const BlockNode& node, glm::vec2 area);

/// The node's matrix as a small heatmap in `area`, of which only `clip` is drawn. `place` names the use: one node may be
/// drawn twice in a frame. Returns whether its numbers are known.
bool draw_node_heatmap(Frame& frame, const HeadSubject& subject, const BlockNode& node, const view::Rect& area,
                       const view::Rect& clip, std::uint32_t place);

/// The node's matrix with numbers, row and column labels, in a region that scrolls, from the cursor on. Returns the cell
/// under the pointer.
std::optional<attention::Cell> draw_unfolded(Frame& frame, const BlockNode& node,
                                             const std::optional<attention::Cell>& marked);

/// A cell of one of the layer's matrices, written out with real numbers.
Arithmetic explain_node(Frame& frame, const HeadSubject& subject, const BlockNode& node, attention::Cell cell);

/// "query 2 “short” · key 5 “first”", or the token and the component.
std::string describe_cell(const Frame& frame, const BlockNode& node, attention::Cell cell);

}  // namespace headlight::app
