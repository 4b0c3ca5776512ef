#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace headlight::model {

/// How numbers are stored. Those after BF16 are ggml's: blocks of 32, 64 or 256 numbers of a row.
enum class ElementType : std::uint8_t {
  F32,
  F16,
  BF16,
  Q8_0,
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q2_K,
  Q3_K,
  Q4_K,
  Q5_K,
  Q6_K,
  TQ1_0,
  TQ2_0,
  MXFP4,
  NVFP4,
  IQ4_NL,
  IQ4_XS,
  IQ2_XXS,
  IQ2_XS,
  IQ2_S,
  IQ3_XXS,
  IQ3_S,
  IQ1_S,
  IQ1_M,
};
inline constexpr std::size_t kElementTypes = 26;

/// "F32", …, "Q6_K".
std::string_view to_string(ElementType type);
/// Numbers per block: 1, 32, 64 or 256.
std::uint32_t block_numbers(ElementType type);
/// Bytes of one block.
std::uint32_t block_bytes(ElementType type);
/// The type of a number in GGUF files; none for those that Headlight doesn't decode.
std::optional<ElementType> element_type_of_ggml(std::uint32_t id);

/// decode() of one type.
void (*decoder(ElementType type))(const std::byte* from, std::size_t count, float* to);

/// `count` numbers, whole blocks, as float32: of blocks bit for bit as the Python package gguf decodes them. `from` need not
/// be aligned.
void decode(ElementType type, const std::byte* from, std::size_t count, float* to);

}  // namespace headlight::model
