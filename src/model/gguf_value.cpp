#include "model/gguf_value.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace headlight::model {
namespace {

struct TypeInfo {
  std::string_view name;
  std::uint32_t bytes;
};
constexpr std::array<TypeInfo, kGgufTypes> kValueTypes{
    TypeInfo{"u8", 1},  TypeInfo{"i8", 1},  TypeInfo{"u16", 2},  TypeInfo{"i16", 2},    TypeInfo{"u32", 4},
    TypeInfo{"i32", 4}, TypeInfo{"f32", 4}, TypeInfo{"bool", 1}, TypeInfo{"string", 0}, TypeInfo{"array", 0},
    TypeInfo{"u64", 8}, TypeInfo{"i64", 8}, TypeInfo{"f64", 8}};

template <typename T>
T value_at(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

/// Calls `use` with each element of a list of whole numbers or floats; false when it holds something else.
template <typename Use>
bool visit_numbers(const GgufValue& value, const Use& use) {
  const auto visit = [&]<typename T>(T) {
    for (std::size_t i = 0; i < value.count; ++i) use(value_at<T>(value.bytes, i));
    return true;
  };
  switch (value.type) {
    case GgufType::U8:
      return visit(std::uint8_t{});
    case GgufType::I8:
      return visit(std::int8_t{});
    case GgufType::U16:
      return visit(std::uint16_t{});
    case GgufType::I16:
      return visit(std::int16_t{});
    case GgufType::U32:
      return visit(std::uint32_t{});
    case GgufType::I32:
      return visit(std::int32_t{});
    case GgufType::U64:
      return visit(std::uint64_t{});
    case GgufType::I64:
      return visit(std::int64_t{});
    case GgufType::F32:
      return visit(float{});
    case GgufType::F64:
      return visit(double{});
    case GgufType::Bool:
    case GgufType::String:
    case GgufType::Array:
      return false;
  }
  return false;
}

}  // namespace

std::string_view to_string(GgufType type) { return kValueTypes.at(static_cast<std::size_t>(type)).name; }
std::uint32_t value_bytes(GgufType type) { return kValueTypes.at(static_cast<std::size_t>(type)).bytes; }

std::optional<std::vector<std::int64_t>> GgufValue::integers() const {
  if (type == GgufType::F32 || type == GgufType::F64) return std::nullopt;
  std::vector<std::int64_t> result;
  bool fits = true;
  const bool are_numbers = visit_numbers(*this, [&](auto number) {
    if constexpr (std::is_same_v<decltype(number), std::uint64_t>) {
      fits = fits && number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    }
    result.push_back(static_cast<std::int64_t>(number));
  });
  if (!are_numbers || !fits) return std::nullopt;
  return result;
}

std::optional<std::vector<double>> GgufValue::numbers() const {
  std::vector<double> result;
  if (!visit_numbers(*this, [&](auto number) { result.push_back(static_cast<double>(number)); })) return std::nullopt;
  return result;
}

std::optional<std::vector<bool>> GgufValue::booleans() const {
  if (type != GgufType::Bool) return std::nullopt;
  std::vector<bool> result;
  for (const std::byte value : bytes) result.push_back(value != std::byte{0});
  return result;
}

std::optional<std::vector<std::string>> GgufValue::texts() const {
  if (type != GgufType::String) return std::nullopt;
  std::vector<std::string> result;
  result.reserve(count);
  for (std::size_t at = 0; result.size() < count;) {
    const auto length = value_at<std::uint64_t>(bytes.subspan(at), 0);
    result.emplace_back(reinterpret_cast<const char*>(bytes.data()) + at + sizeof(length), length);
    at += sizeof(length) + length;
  }
  return result;
}

std::string GgufValue::description() const {
  return is_list ? fmt::format("a list of {} × {}", count, to_string(type)) : std::string(to_string(type));
}

}  // namespace headlight::model
