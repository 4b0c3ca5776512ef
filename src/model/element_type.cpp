#include "model/element_type.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <charconv>
#include <cstring>

#include "core/half.h"
#include "core/processor.h"
#include "model/grid_blocks.h"
#include "model/quantised_blocks.h"

namespace headlight::model {
namespace {

void decode_f32(const std::byte* from, std::size_t count, float* to) {
  if (count > 0) std::memcpy(to, from, count * sizeof(float));
}

template <typename Block>
inline void expand_all(const std::byte* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count / Block::kNumbers; ++i) {
    // The file aligns tensors, not blocks.
    Block block;
    std::memcpy(&block, from + i * sizeof(Block), sizeof(Block));
    block.expand(to + i * Block::kNumbers);
  }
}

#if HEADLIGHT_AVX2
/// The same loops once more, compiled for wider vectors. No fused multiply-add: it would round differently.
template <typename Block>
HEADLIGHT_AVX2_TARGET __attribute__((flatten)) void expand_all_avx2(const std::byte* from, std::size_t count, float* to) {
  expand_all<Block>(from, count, to);
}
#endif

template <typename Block>
void decode_blocks(const std::byte* from, std::size_t count, float* to) {
  assert(count % Block::kNumbers == 0);
#if HEADLIGHT_AVX2
  if (has_avx2()) return expand_all_avx2<Block>(from, count, to);
#endif
  expand_all<Block>(from, count, to);
}

struct Layout {
  std::string_view name;
  std::uint32_t ggml;  ///< its number in GGUF files
  std::uint32_t numbers, bytes;
  void (*decode)(const std::byte* from, std::size_t count, float* to);
};

template <typename Block>
constexpr Layout blocks(std::string_view name, std::uint32_t ggml) {
  return {.name = name, .ggml = ggml, .numbers = Block::kNumbers, .bytes = sizeof(Block), .decode = decode_blocks<Block>};
}

/// In the order of ElementType.
constexpr std::array<Layout, kElementTypes> kLayouts{
    Layout{"F32", 0, 1, 4, decode_f32}, Layout{"F16", 1, 1, 2, from_halves}, Layout{"BF16", 30, 1, 2, from_bfloats},
    blocks<BlockQ8_0>("Q8_0", 8),       blocks<BlockQ4_0>("Q4_0", 2),        blocks<BlockQ4_1>("Q4_1", 3),
    blocks<BlockQ5_0>("Q5_0", 6),       blocks<BlockQ5_1>("Q5_1", 7),        blocks<BlockQ2_K>("Q2_K", 10),
    blocks<BlockQ3_K>("Q3_K", 11),      blocks<BlockQ4_K>("Q4_K", 12),       blocks<BlockQ5_K>("Q5_K", 13),
    blocks<BlockQ6_K>("Q6_K", 14),      blocks<BlockTQ1_0>("TQ1_0", 34),     blocks<BlockTQ2_0>("TQ2_0", 35),
    blocks<BlockMXFP4>("MXFP4", 39),    blocks<BlockNVFP4>("NVFP4", 40),     blocks<BlockIQ4_NL>("IQ4_NL", 20),
    blocks<BlockIQ4_XS>("IQ4_XS", 23),  blocks<BlockIQ2_XXS>("IQ2_XXS", 16), blocks<BlockIQ2_XS>("IQ2_XS", 17),
    blocks<BlockIQ2_S>("IQ2_S", 22),    blocks<BlockIQ3_XXS>("IQ3_XXS", 18), blocks<BlockIQ3_S>("IQ3_S", 21),
    blocks<BlockIQ1_S>("IQ1_S", 19),    blocks<BlockIQ1_M>("IQ1_M", 29)};

const Layout& layout(ElementType type) { return kLayouts.at(static_cast<std::size_t>(type)); }

/// Entries of all grids, four hexadecimal digits each.
std::vector<std::uint16_t> parse_grids() {
  constexpr std::size_t kDigits = 4;
  std::vector<std::uint16_t> entries;
  for (std::size_t at = 0; at + kDigits <= quantised_grids.size(); at += kDigits + 1) {
    const char* begin = quantised_grids.data() + at;
    std::from_chars(begin, begin + kDigits, entries.emplace_back(), 16);
  }
  return entries;
}

}  // namespace

const std::uint16_t* grid(Grid which) {
  constexpr std::array<std::size_t, 6> kBegins{0, 256, 768, 1792, 2048, 2560};  // IQ1_S has 2048 entries
  static const std::vector<std::uint16_t> kEntries = parse_grids();
  assert(kEntries.size() == kBegins.back() + 2048);
  return kEntries.data() + kBegins.at(static_cast<std::size_t>(which));
}

std::string_view to_string(ElementType type) { return layout(type).name; }
std::uint32_t block_numbers(ElementType type) { return layout(type).numbers; }
std::uint32_t block_bytes(ElementType type) { return layout(type).bytes; }

std::optional<ElementType> element_type_of_ggml(std::uint32_t id) {
  const auto found = std::ranges::find(kLayouts, id, &Layout::ggml);
  if (found == kLayouts.end()) return std::nullopt;
  return static_cast<ElementType>(found - kLayouts.begin());
}

void (*decoder(ElementType type))(const std::byte* from, std::size_t count, float* to) { return layout(type).decode; }

void decode(ElementType type, const std::byte* from, std::size_t count, float* to) { layout(type).decode(from, count, to); }

}  // namespace headlight::model
