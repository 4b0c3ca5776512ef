#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headlight::model {

/// How numbers are stored. Blocks of quantised types are ggml's: 32 (Q8_0, Q4_0) or 256 (Q4_K, Q6_K) numbers of a row.
enum class ElementType : std::uint8_t { F32, F16, BF16, Q8_0, Q4_0, Q4_K, Q6_K };

/// "F32", …, "Q6_K".
std::string_view to_string(ElementType type);
/// Numbers per block: 1, 32 or 256.
std::uint32_t block_numbers(ElementType type);
/// Bytes of one block.
std::uint32_t block_bytes(ElementType type);

/// `count` numbers, whole blocks, as float32. `from` need not be aligned.
void decode(ElementType type, const std::byte* from, std::size_t count, float* to);

}  // namespace headlight::model
