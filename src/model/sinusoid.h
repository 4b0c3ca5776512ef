#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace headlight::model {

/// The positional encoding of "Attention Is All You Need", §3.5, [length, d_model]:
///   positions[p, 2i] = sin(p / 10000^(2i/d_model)),  positions[p, 2i + 1] = cos(p / 10000^(2i/d_model))
/// computed in double precision. An odd d_model ends with a sine.
Tensor sinusoidal_positions(std::uint32_t length, std::uint32_t d_model);

}  // namespace headlight::model
