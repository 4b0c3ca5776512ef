#pragma once

#include <string_view>

namespace headlight::model {

/// quantised_grids.txt: entries of grids (grid_blocks.h) in the order of Grid, each of four hexadecimal digits and a space
/// or a line feed. Written by tools/make_format_golden.py.
extern const std::string_view quantised_grids;

}  // namespace headlight::model
