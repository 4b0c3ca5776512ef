#include "ops/host_operations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/half.h"
#include "ops/host_tile.h"

namespace headlight::ops {
namespace {

constexpr std::uint32_t kTileColumns = HostTile::kColumns, kTile4 = kTileColumns / 4;
constexpr std::uint32_t kRowsAtOnce = kHostRowsAtOnce;
constexpr std::uint32_t kMostToWiden = 24;   // rows that multiply weights of 16 bits without a copy of them
constexpr std::uint32_t kInnerAtOnce = 256;  // rows of a tile, 64 KiB, that stay in a core's cache while rows of x go by

/// A layer with its tensors as the program's memory.
struct Layer {
  const float* x;
  const std::byte* weight;
  const float* bias;
  float *q, *k, *v;
  PackedLinear::Run run;
  std::uint32_t items, end_tile, activation;
  LinearParameters parameters;  ///< with first_tile
};

/// The destination of a tile's columns, as store() of shaders/lib/linear.glsl computes it. Offsets count numbers.
struct Columns {
  static constexpr std::size_t kNowhere = ~std::size_t{0};  ///< padding of a section's last tile

  float* to = nullptr;
  std::size_t item_stride = 0, row_stride = 0;
  std::array<std::size_t, kTile4> at{};  ///< of each vec4 of columns in row 0
  bool combines = false;

  Columns(const Layer& layer, std::uint32_t tile) {
    const LinearParameters& p = layer.parameters;
    const bool is_value = tile >= p.value_tile, is_query = tile < p.key_tile;
    const std::uint32_t section_tile = is_value ? p.value_tile : is_query ? 0 : p.key_tile;
    const std::uint32_t slot4 = is_value ? p.d_v4 : p.d_k4, heads = is_query ? p.heads : p.kv_heads;
    const std::size_t tokens = is_query ? p.q_tokens : p.k_tokens;
    to = is_value ? layer.v : is_query ? layer.q : layer.k;
    item_stride = std::size_t{is_value ? p.v_stride4 : is_query ? p.q_stride4 : p.k_stride4} * 4;
    row_stride = std::size_t{slot4} * 4;
    combines = is_query && !is_value && p.combine != 0;
    for (std::uint32_t column4 = 0; column4 < kTile4; ++column4) {
      const std::uint32_t column = (tile - section_tile) * kTile4 + column4, head = column / slot4;
      at[column4] = head < heads ? (head * tokens * slot4 + column % slot4) * 4 : kNowhere;
    }
  }
};

/// Stores four finished numbers of y at an offset, with what is combined there.
void store_combined(const Layer& layer, std::size_t at, const float* values) {
  for (std::size_t c = 0; c < 4; ++c) {
    const float other = layer.v[at + c];
    const float combined = layer.parameters.combine == 1 ? values[c] * other : layer.parameters.scale * values[c] + other;
    const bool is_beside = layer.parameters.combine == 3;
    if (is_beside) layer.k[at + c] = combined;
    layer.q[at + c] = is_beside ? values[c] : combined;
  }
}

void store_rows(const Layer& layer, const Columns& columns, std::uint32_t item, std::uint32_t first_row, std::uint32_t rows,
                const float* values) {
  for (std::uint32_t row = 0; row < rows; ++row, values += kTileColumns) {
    const std::size_t start = item * columns.item_stride + (layer.parameters.y_first + first_row + row) * columns.row_stride;
    for (std::uint32_t column4 = 0; column4 < kTile4; ++column4) {
      if (columns.at[column4] == Columns::kNowhere) continue;
      const std::size_t at = start + columns.at[column4];
      if (columns.combines) {
        store_combined(layer, at, values + std::size_t{column4} * 4);
      } else {
        std::copy_n(values + std::size_t{column4} * 4, 4, columns.to + at);
      }
    }
  }
}

/// Numbers [first, first + count) of the inputs of a tile, kInnerAtOnce at most, as float32 [input, 64].
void widen(WeightType type, const std::byte* tile, std::uint32_t first, std::uint32_t count, float* to) {
  const std::byte* from = tile + bytes_of(type, std::size_t{first} * kTileColumns);
  if (type == WeightType::F16) return from_halves(from, std::size_t{count} * kTileColumns, to);
  if (type == WeightType::BF16) return from_bfloats(from, std::size_t{count} * kTileColumns, to);
  constexpr std::uint32_t kExpanded = HostTile::kExpanded;
  const auto expand = host_tile().expand[static_cast<std::size_t>(type) - kPlainWeightTypes];
  const std::uint32_t parts = block_of(type).numbers / kExpanded;
  for (std::uint32_t group = first / kExpanded; group < (first + count) / kExpanded;
       ++group, to += kExpanded * kTileColumns) {
    const std::byte* block = tile + std::size_t{group / parts} * block_of(type).bytes * kTileColumns;
    expand(reinterpret_cast<const std::uint8_t*>(block), group % parts, to);
  }
}

/// Rows [first_row, first_row + rows) of an item × the columns of a tile.
void compute(const Layer& layer, std::uint32_t tile, std::uint32_t item, std::uint32_t first_row, std::uint32_t rows) {
  alignas(64) std::array<float, std::size_t{kRowsAtOnce} * kTileColumns> sums;
  const LinearParameters& p = layer.parameters;
  const float* x = layer.x + (std::size_t{item} * p.x_stride4 + std::size_t{p.x_first + first_row} * p.inner4) * 4;
  multiply_tile({layer.weight, layer.bias, layer.run, p.inner4, layer.activation}, tile, x, rows, sums.data());
  if (p.clip > 0.0f || (p.clip < 0.0f && tile >= p.value_tile)) {
    const float limit = std::abs(p.clip);
    for (float& sum : std::span(sums).first(std::size_t{rows} * kTileColumns)) sum = std::clamp(sum, -limit, limit);
  }
  store_rows(layer, Columns(layer, tile), item, first_row, rows, sums.data());
}

double multiply_adds(const Layer& layer) {
  const LinearParameters& p = layer.parameters;
  return 4.0 * p.inner4 * kTileColumns * (layer.end_tile - p.first_tile) * layer.items * p.tokens;
}

void compute(const Layer& layer, HostThreads& threads) {
  const std::uint32_t first_tile = layer.parameters.first_tile, tokens = layer.parameters.tokens;
  const std::uint32_t runs = divide_up(tokens, kRowsAtOnce), per_tile = layer.items * runs;
  const std::uint32_t parts = (layer.end_tile - first_tile) * per_tile;
  // Parts of one tile follow each other: its weights stay in the cache.
  const auto part = [&](std::uint32_t number) {
    const std::uint32_t rest = number % per_tile, first_row = rest % runs * kRowsAtOnce;
    compute(layer, first_tile + number / per_tile, rest / runs, first_row, std::min(kRowsAtOnce, tokens - first_row));
  };
  threads.run(parts, multiply_adds(layer), part);
}

}  // namespace

void multiply_tile(const HostWeight& weight, std::uint32_t tile, const float* x, std::uint32_t rows, float* sums) {
  alignas(64) std::array<float, std::size_t{kInnerAtOnce} * kTileColumns> converted;
  const HostTile& kernel = host_tile();
  const std::uint32_t inner = weight.inner4 * 4;
  const std::byte* numbers = weight.weight + weight.run.byte_of(tile);
  const WeightType type = rows <= kMostToWiden && !has_blocks(weight.run.type) ? weight.run.type : WeightType::F32;
  const auto multiply = kernel.multiply[static_cast<std::size_t>(type)];
  // A block that is expanded for a few rows is multiplied while it is in the first-level cache.
  const std::uint32_t at_once = has_blocks(weight.run.type) && rows <= kMostToWiden ? HostTile::kExpanded : kInnerAtOnce;
  for (std::uint32_t k = 0; k < inner; k += at_once) {
    const std::uint32_t count = std::min(at_once, inner - k);
    const void* block = converted.data();
    if (weight.run.type != type) {
      widen(weight.run.type, numbers, k, count, converted.data());
    } else {
      block = numbers + bytes_of(type, std::size_t{k} * kTileColumns);
    }
    multiply({.x = x + k, .x_stride = inner, .rows = rows, .weight = block, .inner = count, .sum = sums, .adds = k > 0});
  }
  kernel.finish(weight.activation, weight.bias + std::size_t{tile} * kTileColumns, rows, sums);
}

bool can_run_on_host(const Kernels& kernels, const HostLinear& linear) {
  return kernels.context().device().runs_host_steps && is_mapped(linear.x.buffer()) && is_mapped(linear.weight.weight) &&
         is_mapped(linear.weight.bias) && is_mapped(linear.q.buffer()) && is_mapped(linear.k.buffer()) &&
         is_mapped(linear.v.buffer());
}

void linear_on_host(gpu::Stream& stream, Kernels& kernels, const HostLinear& linear) {
  Layer layer{.x = numbers<float>(linear.x.buffer()),
              .weight = numbers<const std::byte>(linear.weight.weight),
              .bias = numbers<float>(linear.weight.bias),
              .q = numbers<float>(linear.q.buffer()),
              .k = numbers<float>(linear.k.buffer()),
              .v = numbers<float>(linear.v.buffer()),
              .run = linear.run,
              .items = linear.x.items,
              .end_tile = linear.end_tile,
              .activation = linear.activation,
              .parameters = linear.parameters};
  layer.parameters.first_tile = linear.first_tile;
  stream.run_on_host([layer, &threads = kernels.host_threads()] { compute(layer, threads); }, multiply_adds(layer));
}

}  // namespace headlight::ops
