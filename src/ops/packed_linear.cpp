#include "ops/packed_linear.h"

#include <algorithm>

#include "core/error.h"
#include "gpu/transfer.h"
#include "ops/device_tensor.h"

namespace headlight::ops {
namespace {

constexpr std::uint32_t kTileColumns = 64;
constexpr std::size_t kChunkBytes = std::size_t{16} << 20;

/// Where column or row `index` of `size`, falling into `heads`, lies when every head is padded to vec4.
std::uint32_t padded_index(std::uint32_t index, std::uint32_t size, std::uint32_t heads) {
  const std::uint32_t width = size / heads;
  return index / width * divide_up(width, 4) * 4 + index % width;
}

std::uint32_t padded_width4(std::uint32_t size, std::uint32_t heads) { return heads * divide_up(size / heads, 4); }

PackedLinear::Section section_of(const LinearSource& source, std::uint32_t first_tile) {
  const std::uint32_t slot4 = divide_up(source.out / source.out_heads, 4);
  return {first_tile, divide_up(source.out_heads * slot4 * 4, kTileColumns), slot4, source.out_heads};
}

/// The numbers of tiles [first, first + count) of one section, zeros where nothing is.
void pack_tiles(const LinearSource& source, std::uint32_t inner, std::uint32_t first, std::uint32_t count,
                std::vector<float>& tiles) {
  tiles.assign(std::size_t{count} * inner * kTileColumns, 0.0f);
  for (std::uint32_t row = 0; row < source.out; ++row) {
    const std::uint32_t column = padded_index(row, source.out, source.out_heads);
    const std::uint32_t tile = column / kTileColumns;
    if (tile < first || tile >= first + count) continue;
    float* target = tiles.data() + std::size_t{tile - first} * inner * kTileColumns + column % kTileColumns;
    const float* weights = source.weight.data() + std::size_t{row} * source.in;
    for (std::uint32_t i = 0; i < source.in; ++i) {
      target[std::size_t{padded_index(i, source.in, source.in_heads)} * kTileColumns] = weights[i];
    }
  }
}

}  // namespace

std::size_t packed_bytes(std::span<const LinearSource> sources) {
  std::size_t bytes = 0;
  for (const LinearSource& source : sources) {
    const std::size_t inner4 = padded_width4(source.in, source.in_heads);
    bytes += section_of(source, 0).tiles * (inner4 * 4 + 1) * kTileColumns * sizeof(float);
  }
  return bytes;
}

PackedLinear pack(gpu::Context& context, std::span<const LinearSource> sources, std::string_view purpose) {
  PackedLinear packed;
  packed.inner4 = padded_width4(sources.front().in, sources.front().in_heads);
  const std::uint32_t inner = packed.inner4 * 4;
  std::uint32_t tiles = 0;
  for (const LinearSource& source : sources) {
    if (source.weight.size() != std::size_t{source.out} * source.in || source.in != sources.front().in ||
        (!source.bias.empty() && source.bias.size() != source.out)) {
      throw Error("{}: a weight of {} numbers is not [{}, {}]", purpose, source.weight.size(), source.out, source.in);
    }
    packed.sections.push_back(section_of(source, tiles));
    tiles += packed.sections.back().tiles;
  }
  packed.weight = gpu::Buffer(context, tiles * packed.tile_bytes(), gpu::Memory::Device, purpose);
  packed.bias = gpu::Buffer(context, std::size_t{tiles} * kTileColumns * sizeof(float), gpu::Memory::Device, purpose);

  std::vector<float> bias(std::size_t{tiles} * kTileColumns, 0.0f);
  std::vector<float> chunk;
  const auto tiles_per_chunk = static_cast<std::uint32_t>(std::max<std::size_t>(1, kChunkBytes / packed.tile_bytes()));
  for (std::size_t s = 0; s < sources.size(); ++s) {
    const LinearSource& source = sources[s];
    const PackedLinear::Section& section = packed.sections[s];
    for (std::uint32_t tile = 0; tile < section.tiles; tile += tiles_per_chunk) {
      pack_tiles(source, inner, tile, std::min(tiles_per_chunk, section.tiles - tile), chunk);
      gpu::write(context, packed.weight, (section.first_tile + tile) * packed.tile_bytes(), std::span<const float>(chunk));
    }
    for (std::uint32_t row = 0; row < source.bias.size(); ++row) {
      bias[section.first_tile * kTileColumns + padded_index(row, source.out, source.out_heads)] = source.bias[row];
    }
  }
  gpu::write(context, packed.bias, 0, std::span<const float>(bias));
  return packed;
}

}  // namespace headlight::ops
