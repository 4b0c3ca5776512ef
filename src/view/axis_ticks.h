#pragma once

#include "view/value_scale.h"

namespace headlight::view {

/// Round values (steps of 1, 2 or 5 times a power of ten) inside of a plot's axis, ascending, as many as have room at this
/// `length` where each needs `label_room` along it. `is_whole`: of indices, which have none between.
std::vector<Tick> make_axis_ticks(ValueLimits limits, float length, float label_room, bool is_whole = false);

}  // namespace headlight::view
