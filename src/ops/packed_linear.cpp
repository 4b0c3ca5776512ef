#include "ops/packed_linear.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "core/half.h"
#include "gpu/transfer.h"
#include "ops/device_tensor.h"

namespace headlight::ops {
namespace {

constexpr std::uint32_t kPackedColumns = 64;
constexpr std::size_t kChunkBytes = std::size_t{16} << 20;

/// The index of column or row `index` of `size`, split into `heads`, when every head is padded to vec4.
std::uint32_t padded_index(std::uint32_t index, std::uint32_t size, std::uint32_t heads) {
  const std::uint32_t width = size / heads;
  return index / width * divide_up(width, 4) * 4 + index % width;
}

std::uint32_t padded_width4(std::uint32_t size, std::uint32_t heads) { return heads * divide_up(size / heads, 4); }

bool has_gaps(std::uint32_t size, std::uint32_t heads) { return heads > 1 && size / heads % 4 != 0; }

PackedLinear::Section section_of(const LinearSource& source, std::uint32_t first_tile) {
  const std::uint32_t slot4 = divide_up(source.out / source.out_heads, 4);
  return {first_tile, divide_up(source.out_heads * slot4 * 4, kPackedColumns), slot4, source.out_heads};
}

void read_columns(const LinearSource& source, std::uint32_t first, std::uint32_t count, float* to, std::size_t stride) {
  if (source.read) return source.read(first, count, to, stride);
  for (std::uint32_t r = 0; r < count; ++r) {
    const float* row = source.weight.data() + std::size_t{first + r} * source.in;
    for (std::uint32_t i = 0; i < source.in; ++i) to[i * stride + r] = row[i];
  }
}

/// Packs one tile: 64 output columns, [inner, 64] floats.
class TilePacker {
 public:
  explicit TilePacker(const LinearSource& source) : source_(source), inner_(padded_width4(source.in, source.in_heads) * 4) {}

  void pack(std::uint32_t tile, float* to) {
    const std::uint32_t first = tile * kPackedColumns;
    if (!has_gaps(source_.out, source_.out_heads) && !has_gaps(source_.in, source_.in_heads)) {
      const std::uint32_t count = std::min(kPackedColumns, source_.out - std::min(first, source_.out));
      if (count < kPackedColumns) std::fill_n(to, std::size_t{inner_} * kPackedColumns, 0.0f);
      read_columns(source_, first, count, to, kPackedColumns);
      std::fill(to + std::size_t{source_.in} * kPackedColumns, to + std::size_t{inner_} * kPackedColumns, 0.0f);
      return;
    }
    // Heads with padding between them: each row of the weight in this tile is copied to its own column.
    std::fill_n(to, std::size_t{inner_} * kPackedColumns, 0.0f);
    column_.resize(source_.in);
    for (std::uint32_t row = 0; row < source_.out; ++row) {
      const std::uint32_t column = padded_index(row, source_.out, source_.out_heads);
      if (column / kPackedColumns != tile) continue;
      read_columns(source_, row, 1, column_.data(), 1);
      for (std::uint32_t i = 0; i < source_.in; ++i) {
        to[std::size_t{padded_index(i, source_.in, source_.in_heads)} * kPackedColumns + column % kPackedColumns] =
            column_[i];
      }
    }
  }

 private:
  const LinearSource& source_;
  std::uint32_t inner_;
  std::vector<float> column_;
};

/// Packs tiles [first, first + count) of a section into memory, on all cores when there are many.
void pack_tiles(const LinearSource& source, const PackedLinear& packed, std::uint32_t first, std::uint32_t count,
                std::byte* to) {
  const std::size_t numbers = std::size_t{packed.inner4} * 4 * kPackedColumns;
  std::atomic<std::uint32_t> next = 0;
  std::mutex failing;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      TilePacker packer(source);
      std::vector<float> tile(packed.has_halves ? numbers : 0);
      for (std::uint32_t i = next++; i < count; i = next++) {
        std::byte* target = to + i * packed.tile_bytes();
        if (!packed.has_halves) {
          packer.pack(first + i, reinterpret_cast<float*>(target));
          continue;
        }
        packer.pack(first + i, tile.data());
        to_halves(tile.data(), numbers, reinterpret_cast<std::uint16_t*>(target));
      }
    } catch (...) {
      const std::scoped_lock lock(failing);
      failure = std::current_exception();
    }
  };
  constexpr std::size_t kWorthAThread = std::size_t{1} << 20;  // bytes
  const std::size_t threads =
      std::min<std::size_t>({std::thread::hardware_concurrency(), count, count * packed.tile_bytes() / kWorthAThread + 1});
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

std::size_t packed_bytes(std::span<const LinearSource> sources, bool has_halves) {
  std::size_t bytes = 0;
  for (const LinearSource& source : sources) {
    const std::size_t inner = padded_width4(source.in, source.in_heads) * std::size_t{4};
    bytes += section_of(source, 0).tiles * kPackedColumns * (inner * (has_halves ? 2 : 4) + sizeof(float));
  }
  return bytes;
}

PackedLinear pack(gpu::Context& context, std::span<const LinearSource> sources, std::string_view purpose, bool has_halves) {
  PackedLinear packed;
  packed.has_halves = has_halves;
  packed.width = sources.front().out;
  packed.inner4 = padded_width4(sources.front().in, sources.front().in_heads);
  std::uint32_t tiles = 0;
  for (const LinearSource& source : sources) {
    const bool fits = source.read || source.weight.size() == std::size_t{source.out} * source.in;
    if (!fits || source.in != sources.front().in || (!source.bias.empty() && source.bias.size() != source.out)) {
      throw Error("{}: a weight of {} numbers is not [{}, {}]", purpose, source.weight.size(), source.out, source.in);
    }
    packed.sections.push_back(section_of(source, tiles));
    tiles += packed.sections.back().tiles;
  }
  packed.weight = gpu::Buffer(context, tiles * packed.tile_bytes(), gpu::Memory::Device, purpose);
  packed.bias = gpu::Buffer(context, std::size_t{tiles} * kPackedColumns * sizeof(float), gpu::Memory::Device, purpose);

  std::vector<float> bias(std::size_t{tiles} * kPackedColumns, 0.0f);
  std::vector<std::byte> chunk;
  const auto tiles_per_chunk = static_cast<std::uint32_t>(std::max<std::size_t>(1, kChunkBytes / packed.tile_bytes()));
  for (std::size_t s = 0; s < sources.size(); ++s) {
    const LinearSource& source = sources[s];
    const PackedLinear::Section& section = packed.sections[s];
    for (std::uint32_t row = 0; row < source.bias.size(); ++row) {
      bias[section.first_tile * kPackedColumns + padded_index(row, source.out, source.out_heads)] = source.bias[row];
    }
    // Where host and device share memory, tiles are packed in place.
    if (const std::span<std::byte> mapped = packed.weight.mapped(); !mapped.empty()) {
      pack_tiles(source, packed, 0, section.tiles, mapped.data() + section.first_tile * packed.tile_bytes());
      continue;
    }
    for (std::uint32_t tile = 0; tile < section.tiles; tile += tiles_per_chunk) {
      const std::uint32_t count = std::min(tiles_per_chunk, section.tiles - tile);
      chunk.resize(count * packed.tile_bytes());
      pack_tiles(source, packed, tile, count, chunk.data());
      gpu::write(context, packed.weight, (section.first_tile + tile) * packed.tile_bytes(),
                 std::span<const std::byte>(chunk));
    }
  }
  gpu::write(context, packed.bias, 0, std::span<const float>(bias));
  return packed;
}

}  // namespace headlight::ops
