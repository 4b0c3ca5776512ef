#include "ops/packed_linear.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/half.h"
#include "core/processor.h"
#include "gpu/transfer.h"
#include "ops/device_tensor.h"
#include "platform/memory.h"

#if HEADLIGHT_AVX2
#include <immintrin.h>
#endif

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

std::size_t tile_bytes(const LinearSource& source) {
  return bytes_of(source.type, std::size_t{padded_width4(source.in, source.in_heads)} * 4 * kPackedColumns);
}

/// Stores numbers with 16 bits each.
void narrow(WeightType type, const float* from, std::size_t count, std::byte* to) {
  auto* words = reinterpret_cast<std::uint16_t*>(to);
  type == WeightType::F16 ? to_halves(from, count, words) : to_bfloats(from, count, words);
}

void read_columns(const LinearSource& source, std::uint32_t first, std::uint32_t count, std::uint16_t* to,
                  std::size_t stride) {
  source.read_words(first, count, to, stride);
}

void read_columns(const LinearSource& source, std::uint32_t first, std::uint32_t count, float* to, std::size_t stride) {
  if (source.read) return source.read(first, count, to, stride);
  for (std::uint32_t r = 0; r < count; ++r) {
    const float* row = source.weight.data() + std::size_t{first + r} * source.in;
    for (std::uint32_t i = 0; i < source.in; ++i) to[i * stride + r] = row[i];
  }
}

/// Packs one tile: 64 output columns, [inner, 64] numbers.
template <typename Number>
class TilePacker {
 public:
  explicit TilePacker(const LinearSource& source) : source_(source), inner_(padded_width4(source.in, source.in_heads) * 4) {}

  void pack(std::uint32_t tile, Number* to) {
    const std::uint32_t first = tile * kPackedColumns;
    if (!has_gaps(source_.out, source_.out_heads) && !has_gaps(source_.in, source_.in_heads)) {
      const std::uint32_t count = std::min(kPackedColumns, source_.out - std::min(first, source_.out));
      if (count < kPackedColumns) std::fill_n(to, std::size_t{inner_} * kPackedColumns, Number{});
      read_columns(source_, first, count, to, kPackedColumns);
      std::fill(to + std::size_t{source_.in} * kPackedColumns, to + std::size_t{inner_} * kPackedColumns, Number{});
      return;
    }
    // Heads with padding between them: each row of the weight in this tile is copied to its own column.
    std::fill_n(to, std::size_t{inner_} * kPackedColumns, Number{});
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
  std::vector<Number> column_;
};

#if HEADLIGHT_AVX2
/// Writes past the caches, because only the device reads what is packed: memory needn't be read before it is overwritten.
/// `to` is a multiple of 32 bytes.
HEADLIGHT_AVX2_TARGET void stream_columns(const float* from, float* to) {
  for (std::uint32_t i = 0; i < kPackedColumns; i += 8) _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
}
HEADLIGHT_AVX2_TARGET void end_streams() { _mm_sfence(); }
#endif

/// Packs tiles [first, first + count) of a weight that is stored as [in, out], some inputs at a time: they are read in the
/// order in which they are stored, and stay in the cache until they are spread over the tiles.
class InputPacker {
 public:
  InputPacker(const LinearSource& source, std::uint32_t first, std::uint32_t count, std::byte* to)
      : source_(source),
        first_out_(first * kPackedColumns),
        outs_(std::min(count * kPackedColumns, source.out - std::min(first_out_, source.out))),
        tiles_(count),
        to_(to),
        ins_(std::clamp(kPanelNumbers / std::max(outs_, 1U), 1U, source.in)) {}

  std::uint32_t panels() const { return divide_up(source_.in, ins_); }

  /// Any thread; `room` is a buffer of the caller's.
  void pack(std::uint32_t index, std::vector<float>& room) const {
    const std::uint32_t first = index * ins_, ins = std::min(ins_, source_.in - first);
    const WeightPanel panel =
        source_.read_inputs({.first_out = first_out_, .outs = outs_, .first_in = first, .ins = ins}, room);
    const bool is_last = first + ins == source_.in;
    const std::uint32_t end = is_last ? padded_width4(source_.in, source_.in_heads) * 4 : first + ins;
    const std::size_t column_bytes = kPackedColumns * bytes_of(source_.type, 1);
    for (std::uint32_t tile = 0; tile < tiles_; ++tile) {
      const std::uint32_t begin = tile * kPackedColumns;
      const std::uint32_t outs = std::min(kPackedColumns, outs_ - std::min(begin, outs_));
      std::byte* to = to_ + tile * tile_bytes(source_) + first * column_bytes;
      for (std::uint32_t i = first; i < end; ++i, to += column_bytes) {
        if (i < source_.in) {
          write(panel.numbers + (i - first) * panel.stride + begin, outs, to);
        } else {
          write(nullptr, 0, to);
        }
      }
      if (source_.see_inputs) source_.see_inputs({panel.numbers + begin, panel.stride}, outs, ins);
    }
#if HEADLIGHT_AVX2
    if (has_avx2()) end_streams();
#endif
  }

 private:
  static constexpr std::uint32_t kPanelNumbers = 65'536 - 4'096;  // 240 KiB, for a cache of 256 and more

  /// One input of a tile: `outs` numbers, then zeros.
  void write(const float* numbers, std::uint32_t outs, std::byte* to) const {
    std::array<float, kPackedColumns> padded;
    if (outs < kPackedColumns) {
      std::fill(std::copy_n(numbers, outs, padded.begin()), padded.end(), 0.0F);
      numbers = padded.data();
    }
    if (source_.type != WeightType::F32) return narrow(source_.type, numbers, kPackedColumns, to);
#if HEADLIGHT_AVX2
    constexpr std::uintptr_t kVector = 32;
    if (has_avx2() && reinterpret_cast<std::uintptr_t>(to) % kVector == 0) {
      return stream_columns(numbers, reinterpret_cast<float*>(to));
    }
#endif
    std::copy_n(numbers, kPackedColumns, reinterpret_cast<float*>(to));
  }

  const LinearSource& source_;
  std::uint32_t first_out_, outs_, tiles_;
  std::byte* to_;
  std::uint32_t ins_;  ///< of a panel
};

/// Calls part(0) … part(count − 1), each once, on all cores where `bytes` are worth it. Every thread calls make_part() for a
/// part() of its own.
template <typename MakePart>
void share(std::uint32_t count, std::size_t bytes, const MakePart& make_part) {
  std::atomic<std::uint32_t> next = 0;
  std::mutex failing;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      auto part = make_part();
      for (std::uint32_t i = next++; i < count; i = next++) part(i);
    } catch (...) {
      const std::scoped_lock lock(failing);
      failure = std::current_exception();
    }
  };
  constexpr std::size_t kWorthAThread = std::size_t{1} << 20;  // bytes
  const std::size_t threads = std::min<std::size_t>({std::thread::hardware_concurrency(), count, bytes / kWorthAThread + 1});
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

/// The large pages of memory that is about to be written, each asked for by one thread: threads that first write to the same
/// page at the same time are each given a cleared one, and all but one of them are thrown away.
class LargePages {
 public:
  explicit LargePages(std::span<std::byte> memory)
      : memory_(memory.data()), begin_(reinterpret_cast<std::uintptr_t>(memory_)), end_(begin_ + memory.size()) {}

  /// Returns the number of large pages that begin before a byte of the memory, or before its end.
  std::uint32_t count_before(std::size_t offset) const {
    return offset == 0 ? 0 : static_cast<std::uint32_t>((begin_ + offset - 1) / kBytes - begin_ / kBytes) + 1;
  }
  /// Makes the page present; data that the page holds already stays. Any thread.
  void fetch(std::uint32_t index) const {
    const std::uintptr_t page = (begin_ / kBytes + index) * kBytes;
    const std::uintptr_t begin = std::max(page, begin_), end = std::min(page + kBytes, end_);
    platform::fetch_pages({memory_ + (begin - begin_), end - begin});
  }

 private:
  static constexpr std::uintptr_t kBytes = platform::kLargePageBytes;
  std::byte* memory_;
  std::uintptr_t begin_, end_;
};

/// Byte b of word r becomes byte r of word b, by exchanging halves, quarters and eighths (Warren, Hacker's Delight, 7-3).
void transpose_bytes(std::array<std::uint64_t, 8>& words) {
  constexpr std::array<std::pair<std::size_t, std::uint64_t>, 3> kSteps{
      {{4, 0x0000'0000'ffff'ffff}, {2, 0x0000'ffff'0000'ffff}, {1, 0x00ff'00ff'00ff'00ff}}};
  for (const auto& [distance, mask] : kSteps) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if ((i & distance) != 0) continue;
      const std::uint64_t exchanged = (words[i] >> (8 * distance) ^ words[i + distance]) & mask;
      words[i] ^= exchanged << (8 * distance);
      words[i + distance] ^= exchanged;
    }
  }
}

/// The bytes of the blocks of a tile's 64 rows, of which each source has fewer in its last tile.
void pack_blocks(const LinearSource& source, std::uint32_t tile, std::vector<std::byte>& room, std::byte* to) {
  const std::uint32_t first = tile * kPackedColumns,
                      rows = std::min(kPackedColumns, source.out - std::min(first, source.out));
  const std::size_t row_bytes = bytes_of(source.type, source.in);
  room.resize(rows * row_bytes);
  source.read_blocks(first, rows, room.data());
  if (rows < kPackedColumns) std::fill_n(to, tile_bytes(source), std::byte{});
  for (std::size_t byte = 0; byte < row_bytes; byte += sizeof(std::uint64_t)) {
    const std::size_t bytes = std::min(sizeof(std::uint64_t), row_bytes - byte);
    for (std::uint32_t row = 0; row < rows; row += 8) {
      std::array<std::uint64_t, 8> some{};
      const std::uint32_t count = std::min(8U, rows - row);
      for (std::uint32_t r = 0; r < count; ++r) std::memcpy(&some[r], &room[(row + r) * row_bytes + byte], bytes);
      transpose_bytes(some);
      for (std::size_t b = 0; b < bytes; ++b) std::memcpy(to + (byte + b) * kPackedColumns + row, &some[b], sizeof(some[b]));
    }
  }
}

/// Packs tiles [first, first + count) of a section into memory.
void pack_tiles(const LinearSource& source, std::uint32_t first, std::uint32_t count, std::byte* to) {
  const std::size_t one_tile = tile_bytes(source), bytes = count * one_tile;
  const LargePages pages({to, bytes});
  if (source.read_inputs && !has_gaps(source.out, source.out_heads) && !has_gaps(source.in, source.in_heads)) {
    const InputPacker packer(source, first, count, to);
    const std::uint32_t all_pages = pages.count_before(bytes);
    return share(all_pages + packer.panels(), bytes, [&] {
      return [&, room = std::vector<float>()](std::uint32_t i) mutable {
        if (i < all_pages) return pages.fetch(i);
        packer.pack(i - all_pages, room);
      };
    });
  }
  if (has_blocks(source.type)) {
    return share(count, bytes, [&] {
      return [&, room = std::vector<std::byte>()](std::uint32_t i) mutable {
        pack_blocks(source, first + i, room, to + i * one_tile);
      };
    });
  }
  const std::size_t numbers = std::size_t{padded_width4(source.in, source.in_heads)} * 4 * kPackedColumns;
  const bool is_read_as_words = source.type != WeightType::F32 && source.read_words;
  const bool is_narrow = source.type != WeightType::F32 && !source.read_words;
  // Pages are asked for some tiles before they are written: what was cleared is in a cache then.
  constexpr std::uint32_t kTilesAhead = 16;
  const auto pages_before = [&](std::uint32_t tile) { return pages.count_before(std::min(tile, count) * one_tile); };
  const std::uint32_t first_pages = pages_before(kTilesAhead);
  share(first_pages + count, bytes, [&] {
    return [&, packer = TilePacker<float>(source), word_packer = TilePacker<std::uint16_t>(source),
            tile = std::vector<float>(is_narrow ? numbers : 0)](std::uint32_t i) mutable {
      if (i < first_pages) return pages.fetch(i);
      i -= first_pages;
      for (std::uint32_t page = pages_before(i + kTilesAhead); page < pages_before(i + kTilesAhead + 1); ++page) {
        pages.fetch(page);
      }
      std::byte* target = to + i * one_tile;
      if (is_read_as_words) return word_packer.pack(first + i, reinterpret_cast<std::uint16_t*>(target));
      if (!is_narrow) return packer.pack(first + i, reinterpret_cast<float*>(target));
      packer.pack(first + i, tile.data());
      narrow(source.type, tile.data(), numbers, target);
    };
  });
}

/// The bits of the largest |number|, which without the sign are in the numbers' order.
std::uint16_t largest_bfloat(std::span<const std::byte> packed) {
  std::atomic<std::uint16_t> largest = 0;
  constexpr std::size_t kPart = std::size_t{1} << 20;
  share(static_cast<std::uint32_t>((packed.size() + kPart - 1) / kPart), packed.size(), [&] {
    return [&](std::uint32_t i) {
      const auto* words = reinterpret_cast<const std::uint16_t*>(packed.data() + i * kPart);
      std::uint16_t most = 0;
      for (std::size_t n = 0; n < std::min(kPart, packed.size() - i * kPart) / 2; ++n) {
        most = std::max<std::uint16_t>(most, words[n] & 0x7fffU);
      }
      std::uint16_t known = largest;
      while (known < most && !largest.compare_exchange_weak(known, most)) {
      }
    };
  });
  return largest;
}

}  // namespace

bool can_keep_blocks(const LinearSource& source, WeightType type) {
  return has_blocks(type) && source.in % block_of(type).numbers == 0 && !has_gaps(source.out, source.out_heads) &&
         !has_gaps(source.in, source.in_heads);
}

std::size_t packed_bytes(std::span<const LinearSource> sources) {
  std::size_t bytes = 0;
  for (const LinearSource& source : sources) {
    bytes += section_of(source, 0).tiles * (tile_bytes(source) + kPackedColumns * sizeof(float));
  }
  return bytes;
}

PackedLinear pack(gpu::Context& context, std::span<const LinearSource> sources, std::string_view purpose) {
  PackedLinear packed;
  packed.width = sources.front().out;
  packed.inner4 = padded_width4(sources.front().in, sources.front().in_heads);
  std::uint32_t tiles = 0;
  std::size_t bytes = 0;
  for (const LinearSource& source : sources) {
    const bool fits = source.read || source.weight.size() == std::size_t{source.out} * source.in;
    if (!fits || source.in != sources.front().in || (!source.bias.empty() && source.bias.size() != source.out)) {
      throw Error("{}: a weight of {} numbers is not [{}, {}]", purpose, source.weight.size(), source.out, source.in);
    }
    packed.sections.push_back(section_of(source, tiles));
    if (packed.runs.empty() || packed.runs.back().type != source.type) {
      packed.runs.push_back({source.type, tiles, tiles, bytes, tile_bytes(source)});
    }
    tiles += packed.sections.back().tiles;
    bytes += packed.sections.back().tiles * tile_bytes(source);
    packed.runs.back().end_tile = tiles;
  }
  packed.weight = gpu::Buffer(context, bytes, gpu::Memory::Device, purpose);
  packed.bias = gpu::Buffer(context, std::size_t{tiles} * kPackedColumns * sizeof(float), gpu::Memory::Device, purpose);

  std::vector<float> bias(std::size_t{tiles} * kPackedColumns, 0.0f);
  std::vector<std::byte> chunk;
  std::size_t first_byte = 0;
  for (std::size_t s = 0; s < sources.size(); ++s) {
    const LinearSource& source = sources[s];
    const PackedLinear::Section& section = packed.sections[s];
    const std::size_t one_tile = tile_bytes(source);
    for (std::uint32_t row = 0; row < source.bias.size(); ++row) {
      bias[section.first_tile * kPackedColumns + padded_index(row, source.out, source.out_heads)] = source.bias[row];
    }
    // Tiles are packed in place where host and device share memory.
    const std::span<std::byte> mapped = packed.weight.mapped();
    if (!mapped.empty()) pack_tiles(source, 0, section.tiles, mapped.data() + first_byte);
    const auto tiles_per_chunk = static_cast<std::uint32_t>(std::max<std::size_t>(1, kChunkBytes / one_tile));
    for (std::uint32_t tile = 0; tile < section.tiles && mapped.empty(); tile += tiles_per_chunk) {
      const std::uint32_t count = std::min(tiles_per_chunk, section.tiles - tile);
      chunk.resize(count * one_tile);
      pack_tiles(source, tile, count, chunk.data());
      std::uint16_t& largest = packed.runs.front().largest;
      if (source.type == WeightType::BF16) largest = std::max(largest, largest_bfloat(chunk));
      gpu::write(context, packed.weight, first_byte + tile * one_tile, std::span<const std::byte>(chunk));
    }
    first_byte += section.tiles * one_tile;
  }
  gpu::write(context, packed.bias, 0, std::span<const float>(bias));
  return packed;
}

}  // namespace headlight::ops
