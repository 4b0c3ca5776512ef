#include "ops/attention.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "core/error.h"
#include "ops/attention_blocks.h"
#include "ops/host_operations.h"
#include "ops/linear.h"

namespace headlight::ops {
namespace {

constexpr std::uint32_t kLargeLanes = 256, kLargeRows = 64, kSmallLanes = 64, kSmallRows = 32, kSharedBytes = 10'240;
constexpr std::uint32_t kColumns4 = 16;        // of a workgroup
constexpr std::uint32_t kGroupsPerCore = 4;    // of 64 lanes: one for each of a core's schedulers
constexpr std::uint32_t kFewestPartKeys = 64;  // two tiles: less isn't worth the second dispatch
constexpr std::uint32_t kMaxParts = 16;
constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

/// Returns the number of batch items that one dispatch can take, so that no binding and no grid exceeds the device's
/// limits.
std::uint32_t items_per_slice(const Kernels& kernels, std::size_t in_range, const AttentionInputs& inputs,
                              const DeviceTensor& merged) {
  const auto& [q, k, v] = std::tie(inputs.q, inputs.k, inputs.v);
  const gpu::DeviceInfo& device = kernels.context().device();
  const std::size_t items = std::min<std::size_t>(
      {q.items, in_range / q.item_bytes(), in_range / k.item_bytes(), in_range / v.item_bytes(),
       kernels.max_binding(false) / merged.item_bytes(), device.max_groups[2] / q.heads, device.max_groups[1] / q.heads});
  if (items == 0) {
    throw Error(
        "one matrix of {} tokens × {} heads is more than the {} MiB that '{}' can bind at once; make the text or the model "
        "smaller",
        k.tokens, k.heads, in_range >> 20, device.name);
  }
  return static_cast<std::uint32_t>(items);
}

/// The shader as the build compiled it, or with expressions.
KernelVariant with_expressions(KernelVariant variant, const BlockInputs& inputs) {
  if (inputs.expressions != nullptr) variant.expressions = inputs.expressions->glsl;
  return variant;
}

/// The naive kernel: one dispatch, or several of consecutive rows where one would keep the device busy for too long.
void record_naive(gpu::Stream& stream, Kernels& kernels, const BlockInputs& inputs, AttentionParameters parameters) {
  constexpr std::uint32_t kFewestRows = 32;
  const std::uint32_t maps = inputs.items * parameters.heads, end = parameters.queries;
  const double row_work = kAttentionCost * maps * parameters.keys * 4.0 * (parameters.d_k4 + parameters.d_v4);
  const std::uint32_t step =
      kFewestRows * kernels.parts_at_once(divide_up(end - parameters.block_row, kFewestRows), kFewestRows * row_work);
  for (; parameters.block_row < end; parameters.block_row += step) {
    const std::uint32_t rows = std::min(step, end - parameters.block_row);
    parameters.queries = parameters.block_row + rows;
    stream.dispatch(kernels[with_expressions({.shader = Shader::AttentionNaive}, inputs)],
                    {inputs.q, inputs.k, inputs.v, inputs.mask, inputs.merged, inputs.stats}, parameters,
                    {divide_up(parameters.d_v4, kColumns4), rows, maps}, row_work * rows);
  }
}

KernelVariant tiled_kernel(const Kernels& kernels, std::uint32_t lanes, const MaskExpressions* expressions) {
  const std::uint32_t rolled = kernels.context().device().is_cpu ? 1 : 0;
  return {.shader = Shader::AttentionTiled,
          .constants = {lanes, rolled},
          .expressions = expressions != nullptr ? expressions->glsl : std::string()};
}

KernelVariant merge_kernel() { return {.shader = Shader::AttentionMerge}; }

/// The tiles of which the driver makes the kernels; nullopt when there are none.
std::optional<AttentionTiles> find_tiles(Kernels& kernels, const BlockInputs& inputs,
                                         const AttentionParameters& parameters) {
  for (std::uint32_t most_lanes = 256; most_lanes >= AttentionTiles{}.lanes;) {
    AttentionTiles tiles =
        choose_attention_tiles(kernels.context().device(), parameters.queries - parameters.block_row,
                               inputs.items * parameters.heads, parameters.keys, parameters.d_v4, most_lanes);
    const bool drops_weights = inputs.expressions != nullptr && inputs.expressions->drops_weights;  // not known to the merge
    if (tiles.parts > 1 && (drops_weights || kernels.find(merge_kernel()) == nullptr)) tiles.parts = 1;
    if (kernels.find(tiled_kernel(kernels, tiles.lanes, inputs.expressions)) != nullptr) return tiles;
    most_lanes = tiles.lanes / 2;
  }
  return std::nullopt;
}

/// Tiles, likewise in one dispatch or several.
void record_tiled(gpu::Stream& stream, Kernels& kernels, const BlockInputs& inputs, AttentionParameters parameters,
                  const AttentionTiles& tiles) {
  constexpr std::uint32_t kMergedRows = 4;
  const std::uint32_t maps = inputs.items * parameters.heads, end = parameters.queries;
  const std::uint32_t column_groups = divide_up(parameters.d_v4, kColumns4);
  const double row_work = kAttentionCost * maps * parameters.keys * 4.0 * (parameters.d_k4 + parameters.d_v4);
  // Whole workgroups, so that each row is always computed with the same rows and gets the same bits.
  const std::uint32_t step =
      tiles.rows * kernels.parts_at_once(divide_up(end - parameters.block_row, tiles.rows), tiles.rows * row_work);
  const gpu::Kernel& kernel = kernels[tiled_kernel(kernels, tiles.lanes, inputs.expressions)];
  parameters.parts = tiles.parts;
  for (; parameters.block_row < end; parameters.block_row += step) {
    const std::uint32_t rows = std::min(step, end - parameters.block_row);
    parameters.queries = parameters.block_row + rows;
    const gpu::Groups groups{divide_up(rows, tiles.rows), maps, column_groups * tiles.parts};
    if (tiles.parts == 1) {
      stream.dispatch(kernel, {inputs.q, inputs.k, inputs.v, inputs.mask, inputs.merged, inputs.stats}, parameters, groups,
                      row_work * rows);
      continue;
    }
    parameters.block_rows = rows;
    const PartBytes bytes = part_bytes(tiles.parts, rows, maps, parameters.d_v4);
    const std::size_t alignment = kernels.context().device().offset_alignment;
    const std::size_t stats_at = (bytes.sums + alignment - 1) / alignment * alignment;
    const gpu::Buffer& scratch = stream.scratch(stats_at + bytes.stats, "parts of an attention");
    const gpu::Slice sums(scratch, 0, bytes.sums), stats(scratch, stats_at, bytes.stats);
    stream.dispatch(kernel, {inputs.q, inputs.k, inputs.v, inputs.mask, sums, stats}, parameters, groups, row_work * rows);
    stream.dispatch(kernels[merge_kernel()], {sums, stats, inputs.v, inputs.merged, inputs.stats}, parameters,
                    {divide_up(rows, kMergedRows), maps, column_groups});
  }
}

/// Returns the kernel that computes the same where the driver refuses `kind`.
AttentionKernel instead_of(AttentionKernel kind) {
  switch (kind) {
    case AttentionKernel::BlocksShuffleTexel:
      return AttentionKernel::BlocksTexel;
    case AttentionKernel::BlocksShuffle:
    case AttentionKernel::BlocksTexel:
      return AttentionKernel::Blocks;
    case AttentionKernel::Naive:
    case AttentionKernel::Blocks:
    case AttentionKernel::Tiled:
    case AttentionKernel::Host:
      break;
  }
  return AttentionKernel::Naive;
}

/// `scratch`: null where `kind` needs none.
void record_items(gpu::Stream& stream, Kernels& kernels, AttentionKernel kind, const AttentionScratch* scratch,
                  const BlockInputs& inputs, const AttentionParameters& parameters) {
  if (needs_scratch(kind)) {
    if (has_block_kernels(kernels, kind, inputs, parameters)) {
      return attention_blocks(stream, kernels, kind, *scratch, inputs, parameters);
    }
  } else if (kind != AttentionKernel::Naive) {
    const std::optional<AttentionTiles> tiles = find_tiles(kernels, inputs, parameters);
    if (tiles) return record_tiled(stream, kernels, inputs, parameters, *tiles);
  } else {
    return record_naive(stream, kernels, inputs, parameters);
  }
  record_items(stream, kernels, instead_of(kind), scratch, inputs, parameters);
}

}  // namespace

MaskParameters mask_parameters(const MaskData& mask) {
  return {.causal = mask.causal ? 1u : 0u,
          .window = mask.window,
          .prefix = mask.prefix,
          .key_padding = mask.key_padding ? 1u : 0u,
          .deny_at = mask.deny_at,
          .allow_at = mask.allow_at,
          .planes_at = mask.planes_at,
          .expressions_at = mask.expressions_at};
}

AttentionKernel attention_kernel(const Kernels& kernels, const MaskData& mask) {
  const Tuning& tuning = kernels.tuning();
  // Blocks are faster than the naive kernel where tiles are refused, and the caller can still allocate their scratch.
  const bool lacks_tiles = std::ranges::all_of(std::array{64u, 256u}, [&](std::uint32_t lanes) {
    return kernels.is_refused(tiled_kernel(kernels, lanes, mask.expressions.get()));
  });
  if (tuning.attention == AttentionKernel::Tiled && lacks_tiles) return AttentionKernel::Blocks;
  const bool needs_kernel = mask.expressions && (mask.expressions->has_formulas || mask.expressions->drops_weights);
  if (!is_host(tuning.attention) || !needs_kernel) return tuning.attention;
  if (can_shuffle(kernels.context().device()))
    return tuning.texel_reads ? AttentionKernel::BlocksShuffleTexel : AttentionKernel::BlocksShuffle;
  return tuning.texel_reads ? AttentionKernel::BlocksTexel : AttentionKernel::Blocks;
}

MergedLayout concatenated(std::uint32_t heads, std::uint32_t d_v4) { return {heads * d_v4, d_v4}; }
MergedLayout without_transpose(std::uint32_t queries, std::uint32_t d_v4) { return {d_v4, queries * d_v4}; }

DeviceTensor make_stats(gpu::Stream& stream, std::uint32_t items, std::uint32_t heads, std::uint32_t queries) {
  // The shader indexes pairs without gaps between items, so the tensor is one long row.
  return {stream, 1, 1, 1, items * heads * queries * 2, "the rows' softmax statistics"};
}

AttentionParameters attention_parameters(const AttentionInputs& inputs, const AttentionOutputs& outputs) {
  const auto& [q, k, v] = std::tie(inputs.q, inputs.k, inputs.v);
  AttentionParameters parameters{};
  parameters.queries = inputs.queries.end();
  parameters.keys = inputs.keys;
  parameters.heads = q.heads;
  parameters.group = q.heads / k.heads;
  parameters.q_tokens = q.tokens;
  parameters.k_tokens = k.tokens;
  parameters.d_k4 = q.width4();
  parameters.d_v4 = v.width4();
  parameters.q_stride4 = q.stride4();
  parameters.k_stride4 = k.stride4();
  parameters.v_stride4 = v.stride4();
  parameters.merged_stride4 = outputs.merged.stride4();
  parameters.merged_row4 = outputs.layout.row4;
  parameters.merged_head4 = outputs.layout.head4;
  parameters.scale = inputs.scale;
  parameters.softcap = inputs.softcap;
  parameters.bias_at = inputs.mask.bias_at;
  parameters.has_finite_fill = inputs.mask.has_finite_fill ? 1 : 0;
  parameters.fill = inputs.mask.fill;
  parameters.block_row = inputs.queries.first;
  parameters.parts = 1;
  parameters.mask = mask_parameters(inputs.mask);
  return parameters;
}

void attention(gpu::Stream& stream, Kernels& kernels, const AttentionInputs& inputs, const AttentionOutputs& outputs,
               const AttentionScratch* scratch) {
  const auto& [q, k, v] = std::tie(inputs.q, inputs.k, inputs.v);
  AttentionKernel kind = attention_kernel(kernels, inputs.mask);
  if (is_host(kind) && can_run_on_host(kernels, inputs, outputs)) {
    return attention_on_host(stream, kernels, inputs, outputs);
  }
  const std::size_t largest =
      std::max({q.item_bytes(), k.item_bytes(), v.item_bytes(), needs_scratch(kind) ? scratch->scores().size() : 0});
  if (is_texel(kind) && largest > kernels.max_binding(true)) {
    kind = is_shuffle(kind) ? AttentionKernel::BlocksShuffle : AttentionKernel::Blocks;
  }
  std::uint32_t slice = items_per_slice(kernels, kernels.max_binding(is_texel(kind)), inputs, outputs.merged);
  if (needs_scratch(kind)) slice = std::min(slice, scratch->items());
  AttentionParameters parameters = attention_parameters(inputs, outputs);
  for (std::uint32_t item = 0; item < q.items; item += slice) {
    const std::uint32_t items = std::min(slice, q.items - item);
    parameters.first_item = item;
    const BlockInputs part{q.slice(item, items),
                           k.slice(item, items),
                           v.slice(item, items),
                           *inputs.mask.words,
                           outputs.merged.slice(item, items),
                           outputs.stats.buffer(),
                           items,
                           inputs.mask.expressions.get()};
    record_items(stream, kernels, kind, scratch, part, parameters);
  }
}

PartBytes part_bytes(std::uint32_t parts, std::uint32_t rows, std::uint32_t maps, std::uint32_t d_v4) {
  const std::size_t count = std::size_t{parts} * rows * maps;
  return {count * d_v4 * DeviceTensor::kVec4Bytes, count * 2 * sizeof(float)};
}

AttentionTiles choose_attention_tiles(const gpu::DeviceInfo& device, std::uint32_t rows, std::uint32_t maps,
                                      std::uint32_t keys, std::uint32_t d_v4, std::uint32_t most_lanes) {
  const std::uint32_t cores = std::max(device.cores, 1u);
  const std::uint64_t columns = std::uint64_t{maps} * divide_up(d_v4, kColumns4);
  const bool fills_large = most_lanes >= kLargeLanes && divide_up(rows, kLargeRows) * columns >= cores;
  if (fills_large && can_run(device, kLargeLanes, kSharedBytes)) return {kLargeLanes, kLargeRows, 1};
  AttentionTiles tiles{kSmallLanes, kSmallRows, 1};
  const std::uint64_t groups = divide_up(rows, kSmallRows) * columns;
  const std::uint64_t wanted = std::uint64_t{cores} * kGroupsPerCore / groups;
  const std::size_t most_bytes = std::min(kMaxBytes, device.max_storage_range);
  const std::uint64_t affordable = most_bytes / std::max<std::size_t>(part_bytes(1, rows, maps, d_v4).sums, 1);
  const std::uint64_t z_limit = device.max_groups[2] / divide_up(d_v4, kColumns4);
  tiles.parts = static_cast<std::uint32_t>(
      std::max<std::uint64_t>(1, std::min<std::uint64_t>({wanted, affordable, z_limit, keys / kFewestPartKeys, kMaxParts})));
  return tiles;
}

}  // namespace headlight::ops
