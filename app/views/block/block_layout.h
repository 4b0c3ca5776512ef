#pragma once

#include <cstdint>
#include <vector>

#include <glm/vec2.hpp>

#include "app/views/block/block_plan.h"
#include "view/rect.h"

namespace headlight::app {

/// A matrix of the flow on screen, UI units.
struct PlacedNode {
  std::size_t node = 0;  ///< in BlockPlan::nodes
  view::Rect box;        ///< with its title
  view::Rect cells;      ///< of the heatmap, inside of the box
};

/// What leads from one matrix to another: corners of a line that ends with an arrow head.
struct PlacedArrow {
  std::size_t from = 0, to = 0;  ///< in BlockPlan::nodes
  std::vector<glm::vec2> points;
  bool is_residual = false;  ///< carries the residual stream past a branch
};

struct BlockLayout {
  std::vector<PlacedNode> nodes;
  std::vector<PlacedArrow> arrows;
};

/// Places every matrix in its cell of the grid, with lines in the gutters between. Columns are equally wide; of the height
/// maps of queries and keys get the most, because they are square and others are wide.
BlockLayout lay_out_block(const BlockPlan& plan, const view::Rect& room);

/// The height below which maps would be too small to be read in a room of this width.
float least_block_height(const BlockPlan& plan, float width);

/// The least width of a matrix as a part of its height, and the other way round.
inline constexpr float kThinnestMatrix = 0.35F;

/// A rectangle with the matrix' proportions, as large as `room` lets it be, but never thinner than that part of a square.
view::Rect fit_matrix(std::uint32_t rows, std::uint32_t columns, const view::Rect& room, float thinnest = kThinnestMatrix);

}  // namespace headlight::app
