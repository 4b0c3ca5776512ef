#include "ops/host_operations.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/host_mask.h"
#include "ops/host_tile.h"

namespace headlight::ops {
namespace {

constexpr std::uint32_t kTile = HostTile::kColumns;
constexpr std::uint32_t kPartRows = 256;                     // queries of a part: keys are laid out once for each part
constexpr std::uint32_t kMaxRows = 48, kFewestRows = 6;      // of a block
constexpr std::size_t kScoreBytes = std::size_t{256} << 10;  // of a block's scores, which stay in a core's cache

/// An attention with its tensors as the program's memory.
struct Task {
  const float *q, *k, *v;
  const std::uint32_t* mask_words;
  float *merged, *stats;
  std::uint32_t items;
  AttentionParameters parameters;  ///< `queries` is one past the last computed one, `block_row` the first
};

/// Memory of one thread, kept from part to part.
struct Scratch {
  std::vector<float> keys;    ///< [tile of 64 keys, d_k, 64]
  std::vector<float> values;  ///< [tile of 64 columns, key, 64], where V isn't one such tile already
  std::vector<float> scores;  ///< [tile of 64 keys, row, 64]
  std::vector<float> sums;    ///< [row, 64]
};

/// One head's map of one batch item.
struct Map {
  const Task& task;
  std::uint32_t item, head;
  HostMask mask;

  Map(const Task& of, std::uint32_t of_item, std::uint32_t of_head)
      : task(of),
        item(of_item),
        head(of_head),
        mask(of.parameters.mask, of.mask_words, of_item, of_head, of.parameters.heads, of.parameters.keys) {}

  std::size_t d_k() const { return std::size_t{task.parameters.d_k4} * 4; }
  std::size_t d_v() const { return std::size_t{task.parameters.d_v4} * 4; }
  const float* query(std::uint32_t row) const {
    const AttentionParameters& p = task.parameters;
    return task.q + std::size_t{item} * p.q_stride4 * 4 + (std::size_t{head} * p.q_tokens + row) * d_k();
  }
  const float* key(std::uint32_t row) const {
    const AttentionParameters& p = task.parameters;
    return task.k + std::size_t{item} * p.k_stride4 * 4 + (std::size_t{head / p.group} * p.k_tokens + row) * d_k();
  }
  const float* value(std::uint32_t row) const {
    const AttentionParameters& p = task.parameters;
    return task.v + std::size_t{item} * p.v_stride4 * 4 + (std::size_t{head / p.group} * p.k_tokens + row) * d_v();
  }
  float* stats(std::uint32_t row) const {
    const AttentionParameters& p = task.parameters;
    return task.stats + ((std::size_t{item} * p.heads + head) * p.q_tokens + row) * 2;
  }
  float* merged(std::uint32_t row) const {
    const AttentionParameters& p = task.parameters;
    return task.merged +
           (std::size_t{item} * p.merged_stride4 + std::size_t{row} * p.merged_row4 + std::size_t{head} * p.merged_head4) *
               4;
  }
};

/// Keys [first, first + 64) as columns; those beyond the last are 0.
void lay_out_keys(const Map& map, std::uint32_t first, float* to) {
  const std::uint32_t count = std::min(kTile, map.task.parameters.keys - first);
  const std::size_t d_k = map.d_k();
  if (count < kTile) std::fill_n(to, d_k * kTile, 0.0f);
  for (std::uint32_t column = 0; column < count; ++column) {
    const float* key = map.key(first + column);
    for (std::size_t i = 0; i < d_k; ++i) to[i * kTile + column] = key[i];
  }
}

/// Columns [first, first + 64) of the values of `count` keys; those beyond the last are 0.
void lay_out_values(const Map& map, std::size_t first, std::uint32_t from, std::uint32_t count, float* to) {
  const std::size_t columns = std::min<std::size_t>(kTile, map.d_v() - first);
  for (std::uint32_t key = 0; key < count; ++key, to += kTile) {
    std::copy_n(map.value(from + key) + first, columns, to);
    std::fill(to + columns, to + kTile, 0.0f);
  }
}

/// Adds the terms of distances to scaled scores of 64 keys (shaders/lib/score.glsl).
void add_distances(const Map& map, std::uint32_t query, std::uint32_t first_key, float* scores) {
  const AttentionParameters& p = map.task.parameters;
  const std::uint32_t* words = map.task.mask_words + p.bias_at;
  const auto reach = static_cast<std::int64_t>(words[0] & ~kDistancesBit);
  const std::size_t columns = words[1], queries = words[2], keys = words[3];
  const std::size_t number = std::size_t{map.item} * p.heads + map.head;
  const auto number_at = [&](std::size_t at, std::size_t rows, std::size_t row, std::size_t column) {
    return std::bit_cast<float>(map.task.mask_words[at + (number * rows + row) * columns + column]);
  };
  for (std::uint32_t i = 0; i < kTile; ++i) {
    const std::int64_t distance = std::clamp(std::int64_t{first_key} + i - query, -reach, reach);
    const std::uint32_t column = words[6 + distance + reach];
    float sum = 0.0f;
    if (words[4] != 0) sum += number_at(words[4], queries, query, column);
    if (words[5] != 0) sum += number_at(words[5], keys, std::min<std::size_t>(first_key + i, keys - 1), column);
    scores[i] += p.scale * sum;
  }
}

/// Turns raw scores q·k into those that the mask and softmax take: adds the terms of distances, the softcap, the
/// position bias and painted numbers (shaders/lib/score.glsl).
void add_extras(const Map& map, std::uint32_t query, std::uint32_t first_key, float* scores) {
  const AttentionParameters& p = map.task.parameters;
  if (map.mask.is_uniform()) {
    std::fill_n(scores, kTile, 0.0f);
    return;
  }
  const bool has_distances = p.bias_at != 0 && (map.task.mask_words[p.bias_at] & kDistancesBit) != 0;
  if (has_distances) add_distances(map, query, first_key, scores);
  for (std::uint32_t i = 0; i < kTile; ++i) {
    if (p.softcap > 0.0f) scores[i] = p.softcap * std::tanh(scores[i] / p.softcap);
    if (p.bias_at == 0 || has_distances) continue;
    const std::uint32_t* words = map.task.mask_words + p.bias_at;
    const std::uint32_t key = first_key + i;
    if ((words[0] & kOfKeysBit) != 0) {
      const std::size_t keys = words[0] ^ kOfKeysBit, map_number = std::size_t{map.item} * words[1] + map.head;
      if (key < keys) scores[i] += std::bit_cast<float>(words[2 + map_number * keys + key]);
      continue;
    }
    const auto reach = static_cast<std::int64_t>(words[0]);
    const std::int64_t distance = std::clamp(std::int64_t{key} - query, -reach, reach);
    scores[i] += std::bit_cast<float>(words[1 + map.head * (2 * reach + 1) + distance + reach]);
  }
  map.mask.add_paint(query, first_key, scores);
}

/// Keys that a block of rows sees, in whole tiles.
struct Tiles {
  std::uint32_t begin = 0, end = 0;

  Tiles(const Map& map, std::uint32_t first_row, std::uint32_t rows) {
    const HostMask::Range visited = map.mask.visited(first_row, first_row + rows - 1);
    begin = visited.begin / kTile;
    end = divide_up(visited.end, kTile);
    if (visited.begin == visited.end) end = begin;
  }
  std::uint32_t count() const { return end - begin; }
};

/// Softmax of one row's scores, tiles `stride` numbers apart, without the division: scores become weights; stores (m, l).
void soften(const Map& map, std::uint32_t query, const Tiles& tiles, float* scores, std::size_t stride) {
  const AttentionParameters& p = map.task.parameters;
  const HostTile& kernel = host_tile();
  const bool has_extras = p.softcap > 0.0f || p.bias_at != 0 || map.mask.has_paint();
  float top = HostMask::kHidden, sum = 0.0f;
  for (std::uint32_t tile = tiles.begin; tile < tiles.end; ++tile) {
    float* some = scores + (tile - tiles.begin) * stride;
    kernel.scale(p.scale, some);
    if (has_extras) add_extras(map, query, tile * kTile, some);
    map.mask.hide(query, tile * kTile, some);
    top = kernel.largest(some, top);
  }
  // The shift is −∞ itself where every visible score is −∞, and the row becomes NaN (shaders/lib/mask.glsl).
  const float shift = top == HostMask::kHidden ? -std::numeric_limits<float>::infinity() : top;
  for (std::uint32_t tile = tiles.begin; tile < tiles.end; ++tile) {
    sum += kernel.soften(shift, HostMask::kHidden, scores + (tile - tiles.begin) * stride);
  }
  float* stats = map.stats(query);
  const bool is_hidden = sum == 0.0f && p.has_finite_fill != 0;
  stats[0] = is_hidden ? p.fill : top;
  stats[1] = is_hidden ? static_cast<float>(p.keys) : std::isfinite(sum) ? sum : std::numeric_limits<float>::quiet_NaN();
}

/// The row of a query that attends to all keys alike.
void store_mean(const Map& map, std::uint32_t query) {
  const std::uint32_t keys = map.task.parameters.keys;
  float* to = map.merged(query);
  for (std::size_t column = 0; column < map.d_v(); ++column) {
    float sum = 0.0f;
    for (std::uint32_t key = 0; key < keys; ++key) sum += map.value(key)[column];
    to[column] = sum / static_cast<float>(keys);
  }
}

/// Divides a block's sums of columns [first, first + 64) by l and stores them.
void store_block(const Map& map, std::uint32_t first_row, std::uint32_t rows, std::size_t first, const float* sums) {
  const AttentionParameters& p = map.task.parameters;
  const std::size_t columns = std::min<std::size_t>(kTile, map.d_v() - first);
  for (std::uint32_t row = 0; row < rows; ++row, sums += kTile) {
    const float* stats = map.stats(first_row + row);
    if (p.has_finite_fill != 0 && stats[0] == p.fill) {
      if (first == 0) store_mean(map, first_row + row);
      continue;
    }
    const float factor = stats[1] == 0.0f ? 0.0f : 1.0f / stats[1];
    float* to = map.merged(first_row + row) + first;
    for (std::size_t column = 0; column < columns; ++column) to[column] = sums[column] * factor;
  }
}

/// The keys and values that a part's blocks see, laid out once.
struct LaidOut {
  std::uint32_t first_tile = 0, first_key = 0, keys = 0;
  bool is_one_tile = false;  ///< V is a tile of 64 columns as it is
};

LaidOut lay_out(const Map& map, const Tiles& tiles, Scratch& scratch) {
  LaidOut result{.first_tile = tiles.begin, .first_key = tiles.begin * kTile, .is_one_tile = map.d_v() == kTile};
  result.keys = std::min(tiles.end * kTile, map.task.parameters.keys) - std::min(result.first_key, map.task.parameters.keys);
  const std::size_t tile_size = map.d_k() * kTile;
  scratch.keys.resize(tiles.count() * tile_size);
  for (std::uint32_t tile = tiles.begin; tile < tiles.end; ++tile) {
    lay_out_keys(map, tile * kTile, scratch.keys.data() + (tile - tiles.begin) * tile_size);
  }
  if (result.is_one_tile) return result;
  const std::size_t column_tiles = (map.d_v() + kTile - 1) / kTile, size = std::size_t{result.keys} * kTile;
  scratch.values.resize(column_tiles * size);
  for (std::size_t tile = 0; tile < column_tiles; ++tile) {
    lay_out_values(map, tile * kTile, result.first_key, result.keys, scratch.values.data() + tile * size);
  }
  return result;
}

void compute_block(const Map& map, const LaidOut& laid_out, std::uint32_t first_row, std::uint32_t rows, Scratch& scratch) {
  const HostTile& kernel = host_tile();
  const Tiles tiles(map, first_row, rows);
  const std::size_t stride = std::size_t{rows} * kTile, key_tile = map.d_k() * kTile;
  scratch.scores.resize(tiles.count() * stride);
  scratch.sums.resize(stride);
  float* scores = scratch.scores.data();
  for (std::uint32_t tile = tiles.begin; tile < tiles.end; ++tile) {
    kernel.multiply_rounded({.x = map.query(first_row),
                             .x_stride = map.d_k(),
                             .rows = rows,
                             .weight = scratch.keys.data() + (tile - laid_out.first_tile) * key_tile,
                             .inner = static_cast<std::uint32_t>(map.d_k()),
                             .sum = scores + (tile - tiles.begin) * stride,
                             .adds = false});
  }
  for (std::uint32_t row = 0; row < rows; ++row) {
    soften(map, first_row + row, tiles, scores + std::size_t{row} * kTile, stride);
  }
  for (std::size_t first = 0; first < map.d_v(); first += kTile) {
    std::ranges::fill(scratch.sums, 0.0f);
    for (std::uint32_t tile = tiles.begin; tile < tiles.end; ++tile) {
      const std::uint32_t key = tile * kTile;
      const float* values = laid_out.is_one_tile ? map.value(key)
                                                 : scratch.values.data() + first * laid_out.keys +
                                                       std::size_t{key - laid_out.first_key} * kTile;
      kernel.multiply[0]({.x = scores + (tile - tiles.begin) * stride,
                          .x_stride = kTile,
                          .rows = rows,
                          .weight = values,
                          .inner = std::min(kTile, map.task.parameters.keys - key),
                          .sum = scratch.sums.data(),
                          .adds = true});
    }
    store_block(map, first_row, rows, first, scratch.sums.data());
  }
}

/// Rows [first, first + rows) of one map.
void compute_part(const Map& map, std::uint32_t first, std::uint32_t rows) {
  thread_local Scratch scratch;
  const Tiles tiles(map, first, rows);
  const LaidOut laid_out = lay_out(map, tiles, scratch);
  const std::size_t row_bytes = std::max<std::size_t>(1, tiles.count()) * kTile * sizeof(float);
  const auto at_once = static_cast<std::uint32_t>(std::clamp<std::size_t>(kScoreBytes / row_bytes, kFewestRows, kMaxRows));
  for (std::uint32_t row = 0; row < rows; row += at_once) {
    compute_block(map, laid_out, first + row, std::min(at_once, rows - row), scratch);
  }
}

/// Counts all cells, as if nothing were masked.
double multiply_adds(const Task& task) {
  const AttentionParameters& p = task.parameters;
  return 4.0 * (p.d_k4 + p.d_v4) * (p.queries - p.block_row) * p.keys * task.items * p.heads;
}

void compute(const Task& task, HostThreads& threads) {
  const AttentionParameters& p = task.parameters;
  const std::uint32_t rows = p.queries - p.block_row, runs = divide_up(rows, kPartRows), parts = task.items * p.heads * runs;
  // The last rows see the most keys under a causal mask: they come first, so that no thread ends with them.
  const auto part = [&](std::uint32_t number) {
    const std::uint32_t run = runs - 1 - number / (task.items * p.heads), map = number % (task.items * p.heads);
    compute_part(Map(task, map / p.heads, map % p.heads), p.block_row + run * kPartRows,
                 std::min(kPartRows, rows - run * kPartRows));
  };
  threads.run(parts, multiply_adds(task), part);
}

}  // namespace

bool can_run_on_host(const Kernels& kernels, const AttentionInputs& inputs, const AttentionOutputs& outputs) {
  return kernels.context().device().runs_host_steps && is_mapped(inputs.q.buffer()) && is_mapped(inputs.k.buffer()) &&
         is_mapped(inputs.v.buffer()) && is_mapped(*inputs.mask.words) && is_mapped(outputs.merged.buffer()) &&
         is_mapped(outputs.stats.buffer());
}

void attention_on_host(gpu::Stream& stream, Kernels& kernels, const AttentionInputs& inputs,
                       const AttentionOutputs& outputs) {
  const Task task{.q = numbers<const float>(inputs.q.buffer()),
                  .k = numbers<const float>(inputs.k.buffer()),
                  .v = numbers<const float>(inputs.v.buffer()),
                  .mask_words = numbers<const std::uint32_t>(*inputs.mask.words),
                  .merged = numbers<float>(outputs.merged.buffer()),
                  .stats = numbers<float>(outputs.stats.buffer()),
                  .items = inputs.q.items,
                  .parameters = attention_parameters(inputs, outputs)};
  stream.run_on_host([task, &threads = kernels.host_threads()] { compute(task, threads); }, multiply_adds(task));
}

}  // namespace headlight::ops
