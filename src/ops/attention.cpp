#include "ops/attention.h"

#include <algorithm>
#include <tuple>

#include "core/error.h"
#include "ops/attention_blocks.h"
#include "ops/host_attention.h"

namespace headlight::ops {
namespace {

/// How many batch items one dispatch can take, so that no binding and no grid exceeds the device's limits.
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

/// One dispatch, or several of consecutive rows where one would keep the device busy for too long.
void record_whole(gpu::Stream& stream, Kernels& kernels, const BlockInputs& inputs, AttentionParameters parameters) {
  constexpr std::uint32_t kNaiveColumns4 = 16, kTiledRows = 32, kTiledColumns4 = 16;
  const std::uint32_t maps = inputs.items * parameters.heads;
  const bool is_naive = kernels.tuning().attention == AttentionKernel::Naive;
  const std::uint32_t end = parameters.queries;
  const double row_work = kAttentionCost * maps * parameters.keys * 4.0 * (parameters.d_k4 + parameters.d_v4);
  // Whole workgroups, so that each row is always computed with the same rows and gets the same bits.
  const std::uint32_t step =
      kTiledRows * kernels.parts_at_once(divide_up(end - parameters.block_row, kTiledRows), kTiledRows * row_work);
  for (; parameters.block_row < end; parameters.block_row += step) {
    const std::uint32_t rows = std::min(step, end - parameters.block_row);
    parameters.queries = parameters.block_row + rows;
    stream.dispatch(kernels[{.shader = is_naive ? Shader::AttentionNaive : Shader::AttentionTiled}],
                    {inputs.q, inputs.k, inputs.v, inputs.mask, inputs.merged, inputs.stats}, parameters,
                    is_naive ? gpu::Groups{divide_up(parameters.d_v4, kNaiveColumns4), rows, maps}
                             : gpu::Groups{divide_up(rows, kTiledRows), maps, divide_up(parameters.d_v4, kTiledColumns4)},
                    row_work * rows);
  }
}

}  // namespace

MaskParameters mask_parameters(const MaskData& mask) {
  return {.causal = mask.causal ? 1u : 0u,
          .window = mask.window,
          .prefix = mask.prefix,
          .key_padding = mask.key_padding ? 1u : 0u,
          .deny_at = mask.deny_at,
          .allow_at = mask.allow_at,
          .planes_at = mask.planes_at};
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
  parameters.mask = mask_parameters(inputs.mask);
  return parameters;
}

void attention(gpu::Stream& stream, Kernels& kernels, const AttentionInputs& inputs, const AttentionOutputs& outputs,
               const AttentionScratch* scratch) {
  const auto& [q, k, v] = std::tie(inputs.q, inputs.k, inputs.v);
  AttentionKernel kind = kernels.tuning().attention;
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
                           items};
    if (needs_scratch(kind)) {
      attention_blocks(stream, kernels, kind, *scratch, part, parameters);
    } else {
      record_whole(stream, kernels, part, parameters);
    }
  }
}

}  // namespace headlight::ops
