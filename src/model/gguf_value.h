#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::model {

/// Types of metadata values, numbered as in the file (docs/gguf.md of github.com/ggml-org/ggml).
enum class GgufType : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };
inline constexpr std::uint32_t kGgufTypes = 13;

/// "u8", …, "string", "array", …: for messages.
std::string_view to_string(GgufType type);
/// Bytes of one value; 0 for strings and arrays, whose length is in the file.
std::uint32_t value_bytes(GgufType type);

/// One metadata value, viewed in the mapped file: a scalar, or a list whose elements have one type. A tokenizer's hundred
/// thousand strings are copied when a caller asks for them, not when the file is opened.
struct GgufValue {
  GgufType type = GgufType::U8;  ///< of the scalar or of the elements
  bool is_list = false;
  std::uint64_t count = 1;           ///< elements; 1 for a scalar
  std::span<const std::byte> bytes;  ///< element after element; strings as length (64 bits) and characters

  /// The elements (one for a scalar); nullopt when they have another type. Whole numbers of any width are integers, integers
  /// and floats are numbers.
  std::optional<std::vector<std::int64_t>> integers() const;
  std::optional<std::vector<double>> numbers() const;
  std::optional<std::vector<bool>> booleans() const;
  std::optional<std::vector<std::string>> texts() const;

  /// "u32", "list of 128 strings".
  std::string description() const;
};

}  // namespace headlight::model
