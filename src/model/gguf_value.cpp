#include "model/gguf_value.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

namespace headlight::model {
namespace {

template <typename T>
T value_at(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

struct TypeInfo {
  std::string_view name;
  std::uint32_t bytes;
  std::int64_t (*integer)(const std::byte*) = nullptr;  ///< of whole numbers
  double (*number)(const std::byte*) = nullptr;         ///< of whole numbers and floats
};

template <typename T>
constexpr TypeInfo numeric(std::string_view name) {
  TypeInfo info{.name = name, .bytes = sizeof(T)};
  if (std::is_integral_v<T>)
    info.integer = [](const std::byte* from) { return static_cast<std::int64_t>(value_at<T>(from)); };
  info.number = [](const std::byte* from) { return static_cast<double>(value_at<T>(from)); };
  return info;
}

constexpr std::array<TypeInfo, kGgufTypes> kValueTypes{numeric<std::uint8_t>("u8"),
                                                       numeric<std::int8_t>("i8"),
                                                       numeric<std::uint16_t>("u16"),
                                                       numeric<std::int16_t>("i16"),
                                                       numeric<std::uint32_t>("u32"),
                                                       numeric<std::int32_t>("i32"),
                                                       numeric<float>("f32"),
                                                       TypeInfo{.name = "bool", .bytes = 1},
                                                       TypeInfo{.name = "string", .bytes = 0},
                                                       TypeInfo{.name = "array", .bytes = 0},
                                                       numeric<std::uint64_t>("u64"),
                                                       numeric<std::int64_t>("i64"),
                                                       numeric<double>("f64")};

const TypeInfo& info(GgufType type) { return kValueTypes.at(static_cast<std::size_t>(type)); }

/// Every element; nullopt where the type has no such reading.
template <typename T>
std::optional<std::vector<T>> read_all(const GgufValue& value, T (*read)(const std::byte*)) {
  if (read == nullptr) return std::nullopt;
  std::vector<T> result(value.count);
  for (std::size_t i = 0; i < value.count; ++i) result[i] = read(value.bytes.data() + i * info(value.type).bytes);
  return result;
}

}  // namespace

std::string_view to_string(GgufType type) { return info(type).name; }
std::uint32_t value_bytes(GgufType type) { return info(type).bytes; }

std::optional<std::vector<std::int64_t>> GgufValue::integers() const {
  std::optional<std::vector<std::int64_t>> found = read_all(*this, info(type).integer);
  // A u64 that doesn't fit has the sign bit.
  if (found && type == GgufType::U64 && std::ranges::any_of(*found, [](std::int64_t value) { return value < 0; })) {
    return std::nullopt;
  }
  return found;
}

std::optional<std::vector<double>> GgufValue::numbers() const { return read_all(*this, info(type).number); }

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
    const auto length = value_at<std::uint64_t>(bytes.data() + at);
    result.emplace_back(reinterpret_cast<const char*>(bytes.data()) + at + sizeof(length), length);
    at += sizeof(length) + length;
  }
  return result;
}

std::string GgufValue::description() const {
  return is_list ? fmt::format("a list of {} × {}", count, to_string(type)) : std::string(to_string(type));
}

}  // namespace headlight::model
