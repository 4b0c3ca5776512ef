#include "model/element_type.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/half.h"
#include "model/quantised.h"

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

}  // namespace

std::string_view to_string(ElementType type) { return layout(type).name; }
std::uint32_t block_numbers(ElementType type) { return layout(type).numbers; }
std::uint32_t block_bytes(ElementType type) { return layout(type).bytes; }

void decode(ElementType type, const std::byte* from, std::size_t count, float* to) {
  switch (type) {
    case ElementType::F32:
      if (count > 0) std::memcpy(to, from, count * sizeof(float));
      return;
    case ElementType::F16:
      from_halves(from, count, to);
      return;
    case ElementType::BF16:
      for (std::size_t i = 0; i < count; ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, from + i * sizeof(bits), sizeof(bits));
        to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
      }
      return;
    case ElementType::Q8_0:
    case ElementType::Q4_0:
    case ElementType::Q4_K:
    case ElementType::Q6_K:
      decode_quantised(type, from, count, to);
      return;
  }
}

}  // namespace headlight::model
