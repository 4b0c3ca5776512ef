#pragma once

#include "app/frame.h"
#include "app/views/block/block_matrices.h"
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
BlockFigure keep_block(Frame& frame, const HeadSubject& subject, const BlockPlan& plan, glm::vec2 room);

/// The layer's data flow with all of its matrices; null while one of them isn't known.
std::unique_ptr<exporting::Drawing> make_block_figure(const BlockFigure& kept);

}  // namespace headlight::app
