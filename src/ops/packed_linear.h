#pragma once

#include "gpu/buffer.h"
#include "gpu/context.h"
#include "ops/weight_type.h"

namespace headlight::ops {

/// Reads rows [first, first + count) of a weight [out, in] as columns: number i of row first + r goes to `to[i · stride +
/// r]`. Called from several threads at once.
using ColumnReader = std::function<void(std::uint32_t first, std::uint32_t count, float* to, std::size_t stride)>;

/// Reads columns as ColumnReader does, of a weight whose numbers have the packed weight's 16 bits: these bits.
using WordReader = std::function<void(std::uint32_t first, std::uint32_t count, std::uint16_t* to, std::size_t stride)>;

/// Reads the stored blocks of rows [first, first + count), row after row. Called from several threads at once.
using BlockReader = std::function<void(std::uint32_t first, std::uint32_t count, std::byte* to)>;

/// A rectangle of a weight [out, in].
struct WeightPart {
  std::uint32_t first_out = 0, outs = 0;  ///< rows
  std::uint32_t first_in = 0, ins = 0;    ///< columns
};

/// The numbers of such a part: that of row first_out + o and column first_in + i is `numbers[i · stride + o]`.
struct WeightPanel {
  const float* numbers = nullptr;
  std::size_t stride = 0;
};

/// Reads a part of a weight that is stored as [in, out]: into `room`, which it makes as large as that takes, or not at all
/// where the numbers can be read as they are stored. Valid until `room` is changed. Called from several threads at once,
/// each with a room of its own.
using InputReader = std::function<WeightPanel(const WeightPart&, std::vector<float>& room)>;

/// Called once for every number that an InputReader returned, with some inputs' numbers at a time, after they were packed,
/// while they are in the cache. Several threads at once.
using InputObserver = std::function<void(const WeightPanel&, std::uint32_t outs, std::uint32_t ins)>;

/// One weight of torch.nn.Linear in host memory, and the split of its rows and columns into heads.
struct LinearSource {
  std::span<const float> weight = {};  ///< [out, in], or empty: a reader provides it
  std::span<const float> bias = {};    ///< [out], or empty for none
  std::uint32_t out = 0;
  std::uint32_t in = 0;
  std::uint32_t out_heads = 1;        ///< rows are [out_heads, out / out_heads]; each head's columns of y are padded to vec4
  std::uint32_t in_heads = 1;         ///< columns likewise, for inputs stored in padded head slots
  WeightType type = WeightType::F32;  ///< of the packed weight
  ColumnReader read = {};
  WordReader read_words = {};    ///< besides `read`, where the weight is packed as it is stored
  BlockReader read_blocks = {};  ///< instead, where the packed weight has blocks
  InputReader read_inputs = {};  ///< besides `read`, where the weight is stored as [in, out]
  InputObserver see_inputs = {};
};

/// Up to three weights over the same input (queries, keys, values; or a single one) on the device, in the order in which the
/// kernels walk them: [tile of 64 outputs][input][16] vec4, or of blocks [tile][block of inputs][byte of a block][64
/// outputs], each weight starting a new tile.
struct PackedLinear {
  struct Section {
    std::uint32_t first_tile = 0;
    std::uint32_t tiles = 0;
    std::uint32_t slot4 = 0;  ///< vec4 of one head's columns
    std::uint32_t heads = 1;
  };
  /// Tiles of one type, one after the other. There are several where the weights have blocks of different types.
  struct Run {
    WeightType type = WeightType::F32;
    std::uint32_t first_tile = 0, end_tile = 0;
    std::size_t first_byte = 0;  ///< of the weight, where its first tile is
    std::size_t tile_bytes = 0;
    std::uint16_t largest = 0;  ///< of bfloat16: the bits of the largest |number|; 0 where it isn't known

    std::size_t byte_of(std::uint32_t tile) const { return first_byte + (tile - first_tile) * tile_bytes; }
  };
  gpu::Buffer weight;
  gpu::Buffer bias;  ///< [tile, 16] vec4, zeros without a bias; always float32
  std::uint32_t inner4 = 0;
  std::uint32_t width = 0;  ///< outputs of the first section: a plain layer's columns of y
  std::vector<Section> sections;
  std::vector<Run> runs;

  std::size_t bytes() const { return weight.size() + bias.size(); }
};

/// Can a weight be packed as the blocks that it is stored in: do they fill its rows, and heads need no padding?
bool can_keep_blocks(const LinearSource& source, WeightType type);

/// Bytes that pack() will take on the device.
std::size_t packed_bytes(std::span<const LinearSource> sources);

/// Packs and copies to the device with every processor core, some megabytes at a time. Numbers become the nearest float16;
/// of bfloat16 they must be already. Types differ only where all have blocks. Throws Error when the device's memory is too
/// small.
PackedLinear pack(gpu::Context& context, std::span<const LinearSource> sources, std::string_view purpose);

}  // namespace headlight::ops
