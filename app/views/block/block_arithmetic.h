#pragma once

#include "app/cells/arithmetic.h"
#include "app/views/block/block_matrices.h"

namespace headlight::app {

/// A cell of one of the layer's matrices, written out with real numbers.
Arithmetic explain_node(Frame& frame, const BlockSource& source, const BlockNode& node, attention::Cell cell);

/// "query 2 “short” · key 5 “first”", or the token and the component.
std::string describe_cell(const Frame& frame, const BlockNode& node, attention::Cell cell);

}  // namespace headlight::app
