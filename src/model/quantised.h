#pragma once

#include <cstddef>

#include "model/element_type.h"

namespace headlight::model {

/// `count` numbers, whole blocks of Q8_0, Q4_0, Q4_K or Q6_K, as float32: bit for bit as ggml decodes them.
void decode_quantised(ElementType type, const std::byte* from, std::size_t count, float* to);

}  // namespace headlight::model
