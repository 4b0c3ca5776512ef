#pragma once

#include <string>
#include <vector>

#include "app/cells/arithmetic.h"
#include "app/frame.h"
#include "app/views/block/block_matrices.h"

namespace headlight::app {

/// A cell of one of the layer's matrices, written out with real numbers: stages as everywhere, states as sums of what they
/// are made from.
Arithmetic explain_node(Frame& frame, const BlockSource& source, const BlockNode& node, attention::Cell cell);

/// The sum behind a cell of the residual stream, from known states. `normed`: the norm behind the sum, or none.
Arithmetic explain_state(const BlockSource& source, StateMatrix state, attention::Cell cell);

/// What a cell is made from, one step back: matrices of the flow and the parts of them.
std::vector<MatrixPart> state_sources(const BlockPlan& plan, const BlockNode& node, attention::Cell cell);

/// "query 2 “short” · key 5 “first”", or the token and the component.
std::string describe_cell(const Frame& frame, const BlockNode& node, attention::Cell cell);

}  // namespace headlight::app
