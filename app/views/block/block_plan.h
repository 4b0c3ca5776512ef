#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/quantities/quantity.h"
#include "inference/run.h"
#include "model/network.h"

namespace headlight::app {

/// One matrix of a layer's data flow: a stage of the run.
struct BlockNode {
  attention::Stage stage = attention::Stage::X;
  std::string operation;                 ///< what makes it from its inputs: "· W_Q + b"
  std::string_view explanation;          ///< one sentence, for its tooltip; may be empty
  std::uint32_t row = 0, column = 0;     ///< in the grid of the flow
  std::vector<attention::Stage> inputs;  ///< what it is made from, in the order of the formula
  std::uint32_t rows = 0, columns = 0;   ///< of the matrix

  const Quantity& quantity() const { return app::quantity(stage); }
  /// "scores": BlockChoices::opened names it.
  std::string_view id() const { return attention::to_string(stage); }
  /// What stands after the symbol: "raw scores" after "S", nothing after itself.
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

/// The plan of a block. `layer` may be null: nothing is known but the shape.
BlockPlan plan_block(model::BlockRef block, const model::AttentionLayer* layer, const inference::BlockShape& shape);

}  // namespace headlight::app
