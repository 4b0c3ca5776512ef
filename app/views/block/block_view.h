#pragma once

#include "app/views/block/block_matrices.h"
#include "app/views/block/block_walk.h"
#include "app/views/view.h"
#include "export/drawing.h"
#include "view/color_map.h"

namespace headlight::app {

/// What a figure of a layer is made from: its matrices as the engine's answers, kept from the last frame.
struct BlockFigure {
  BlockPlan plan;
  std::vector<std::shared_ptr<const attention::Tile>> tiles;  ///< [node]; null: not known yet
  std::vector<view::Rgb> colors;                              ///< [node]
  bool is_compared = false;
  std::string title = {}, subtitle = {}, color_map = {};
  view::Rgb arrow{};  ///< of the residual stream past a branch
};

/// Asks for the layer's matrices as they are drawn in a flow of this size.
BlockFigure keep_block(Frame& frame, const BlockSource& source, const BlockPlan& plan, glm::vec2 room);

/// The layer's data flow with all of its matrices; null while one of them isn't known.
std::unique_ptr<exporting::Drawing> make_block_figure(const BlockFigure& kept);

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
