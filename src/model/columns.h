#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/element_type.h"

namespace headlight::model {

/// Writes rows as columns: number i of row r, of `width`, goes to `to[i · stride + r]`. Each of `rows` points to the row's
/// first byte, which need not be aligned. Of F32, F16 and BF16 only. At memory speed where the processor has AVX2.
void rows_to_columns(ElementType type, std::span<const std::byte* const> rows, std::size_t width, float* to,
                     std::size_t stride);

/// The same of F16 and BF16 alone, without decoding.
void rows_to_columns(std::span<const std::byte* const> rows, std::size_t width, std::uint16_t* to, std::size_t stride);

}  // namespace headlight::model
