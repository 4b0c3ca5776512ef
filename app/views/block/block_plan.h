#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cells/step_matrix.h"
#include "app/quantities/quantity.h"
#include "inference/run.h"
#include "model/network.h"

namespace headlight::app {

/// A matrix of the residual stream, which is no stage (BlockStates).
enum class StateMatrix : std::uint8_t { Before, AfterAttention, FeedForward, Next };

/// One matrix of a layer's data flow.
struct BlockNode {
  std::string_view id;      ///< "scores": BlockChoices::opened names it
  std::string title;        ///< "raw scores"
  std::string symbol;       ///< "S", as math_text sets it
  std::string operation;    ///< what makes it from its inputs: "· W_Q + b"
  std::string explanation;  ///< one sentence, for its tooltip
  Role role = Role::Input;
  std::optional<attention::Stage> stage;  ///< of the run; none: a state or the memory
  std::optional<StateMatrix> state;
  std::uint32_t row = 0, column = 0;     ///< in the grid of the flow
  std::vector<std::string_view> inputs;  ///< ids of the matrices that it is made from, in the order of the formula
  std::uint32_t rows = 0, columns = 0;   ///< of the matrix

  /// What stands behind the symbol: "raw scores" behind "S", "scores" behind "scaled", nothing behind itself.
  std::string_view name() const;
};

/// A layer's data flow as its family computes it: pre-norm or post-norm, the MLP behind attention or parallel to it, with or
/// without a residual stream, keys and values of the layer's own input or of the encoder.
struct BlockPlan {
  std::vector<BlockNode> nodes;  ///< in the order of computation
  std::uint32_t rows = 3, columns = 5;

  const BlockNode* find(std::string_view id) const;
};

/// The plan of a block. `layer` may be null: nothing is known but the shape.
BlockPlan plan_block(model::BlockRef block, const model::AttentionLayer* layer, const inference::BlockShape& shape);

/// "LayerNorm" or "RMSNorm".
const char* norm_name(const model::Norm& norm);

}  // namespace headlight::app
