#pragma once

#include "app/shapes/quantities/quantity.h"
#include "chart/viewport.h"

namespace headlight::app {

/// One matrix of a layer's data flow: a stage of the run.
struct BlockNode {
  attention::Stage stage = attention::Stage::X;
  std::string operation;                 ///< what makes it from its inputs: "· W_Q + b"
  std::string_view explanation;          ///< one sentence, for its tooltip; may be empty
  std::uint32_t row = 0, column = 0;     ///< in the grid of the flow
  std::vector<attention::Stage> inputs;  ///< what it is made from
  std::uint32_t rows = 0, columns = 0;   ///< of the matrix

  const Quantity& quantity() const { return app::quantity(stage); }
  /// Returns "scores": State::opened_matrix names it.
  std::string_view id() const { return attention::to_string(stage); }
  /// Returns the words after the symbol: "raw scores" after "S", nothing after itself.
  std::string_view name() const;
};

/// A layer's data flow as its family computes it: pre-norm or post-norm, the feed-forward after attention or parallel to it,
/// with or without a residual stream, keys and values of the layer's own input or of the encoder.
struct BlockPlan {
  std::vector<BlockNode> nodes;  ///< in the order of computation
  std::uint32_t rows = 3, columns = 5;

  const BlockNode* find(std::string_view id) const;
  const BlockNode* find(attention::Stage stage) const;
};

/// Returns the plan of a block. `layer` may be null: nothing is known but the shape.
BlockPlan plan_block(model::BlockRef block, const model::AttentionLayer* layer, const inference::BlockShape& shape);

/// A matrix of the flow on screen, UI units.
struct PlacedNode {
  std::size_t node = 0;      ///< in BlockPlan::nodes
  chart::Rect box;           ///< with its title
  chart::Rect cells;         ///< of the heatmap, inside of the box
  float operation_y = 0.0F;  ///< top of the line that says what made it
};

/// An arrow from one matrix to another: corners of a line that ends with an arrow head.
struct PlacedArrow {
  std::size_t from = 0, to = 0;  ///< in BlockPlan::nodes
  std::vector<glm::vec2> points;
  bool is_residual = false;  ///< carries the residual stream past a branch
};

struct BlockLayout {
  std::vector<PlacedNode> nodes;
  std::vector<PlacedArrow> arrows;
  bool is_strip = false;  ///< of lay_out_strip()
  float height = 0.0F;    ///< of a strip
};

/// Places every matrix in its cell of the grid, with lines in the gutters between. Columns are equally wide; of the height
/// maps of queries and keys get the most, because they are square and others are wide.
BlockLayout lay_out_block(const BlockPlan& plan, const chart::Rect& room);

/// Places every matrix in the order of computation in lines, all equally high and as large as the room lets them be; an
/// arrow leads to a matrix from the one before where it is made of that.
BlockLayout lay_out_strip(const BlockPlan& plan, const chart::Rect& room);

inline constexpr float kReadableMap = 88.0F;  ///< UI units, an edge
/// Returns the height below which maps would be smaller than that in a room of this width.
float least_block_height(const BlockPlan& plan, float width, float edge = kReadableMap);

/// The least width of a matrix as a part of its height, and the other way round.
inline constexpr float kThinnestMatrix = 0.35F;

/// Returns a rectangle with the matrix' proportions, as large as `room` lets it be, but never thinner than that part of a
/// square.
chart::Rect fit_matrix(std::uint32_t rows, std::uint32_t columns, const chart::Rect& room, float thinnest = kThinnestMatrix);

}  // namespace headlight::app
