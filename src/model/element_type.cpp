#include "model/element_type.h"

#include <array>
#include <bit>
#include <cstring>

#include "core/error.h"

namespace headlight::model {
namespace {

struct Layout {
  std::string_view name;
  std::uint32_t numbers, bytes;
};
constexpr std::array<Layout, 7> kLayouts{Layout{"F32", 1, 4},     Layout{"F16", 1, 2},    Layout{"BF16", 1, 2},
                                         Layout{"Q8_0", 32, 34},  Layout{"Q4_0", 32, 18}, Layout{"Q4_K", 256, 144},
                                         Layout{"Q6_K", 256, 210}};

const Layout& layout(ElementType type) { return kLayouts.at(static_cast<std::size_t>(type)); }

std::uint16_t half_at(const std::byte* from, std::size_t index) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, from + index * sizeof(bits), sizeof(bits));
  return bits;
}

/// IEEE 754 binary16: the exponent moves by a multiplication, which also makes subnormal numbers right.
float from_half(std::uint16_t bits) {
  const std::uint32_t magnitude = (bits & 0x7fffu) << 13;
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const std::uint32_t special = (bits & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;  // infinities and NaN
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
}

}  // namespace

std::string_view to_string(ElementType type) { return layout(type).name; }
std::uint32_t block_numbers(ElementType type) { return layout(type).numbers; }
std::uint32_t block_bytes(ElementType type) { return layout(type).bytes; }

void decode(ElementType type, const std::byte* from, std::size_t count, float* to) {
  switch (type) {
    case ElementType::F32:
      std::memcpy(to, from, count * sizeof(float));
      return;
    case ElementType::F16:
      for (std::size_t i = 0; i < count; ++i) to[i] = from_half(half_at(from, i));
      return;
    case ElementType::BF16:
      for (std::size_t i = 0; i < count; ++i)
        to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(half_at(from, i)) << 16);
      return;
    default:
      throw Error("weights in {} can't be read: choose a file in F32, F16 or BF16", to_string(type));
  }
}

}  // namespace headlight::model
