#pragma once

#include <cstdint>

namespace headlight::ops {

using uint = std::uint32_t;

// The structs that the shaders read as push constants, from the same files. The mask comes first: others contain it.
#include "params/mask.h"

#include "params/attention.h"
#include "params/cells.h"
#include "params/distance_scores.h"
#include "params/edit_head.h"
#include "params/expand_blocks.h"
#include "params/experts.h"
#include "params/linear.h"
#include "params/matrix_region.h"
#include "params/norm.h"
#include "params/odd_numbers.h"
#include "params/rotate.h"

}  // namespace headlight::ops
