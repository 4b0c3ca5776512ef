#pragma once

#include "gpu/device_info.h"
#include "gpu/stream.h"
#include "ops/device_tensor.h"
#include "ops/kernels.h"
#include "ops/mask_data.h"
#include "ops/parameters.h"

namespace headlight::ops {

/// The mask's part of every kernel's push constants.
MaskParameters mask_parameters(const MaskData& mask);

/// Layout of the heads' outputs in the merged matrix, in vec4: concatenated, or (notebook 003) without the transpose.
struct MergedLayout {
  std::uint32_t row4 = 0;
  std::uint32_t head4 = 0;
};
MergedLayout concatenated(std::uint32_t heads, std::uint32_t d_v4);
MergedLayout without_transpose(std::uint32_t queries, std::uint32_t d_v4);

/// Multiply-adds of a linear layer that take about as long as one of attention with its loads and masks.
inline constexpr double kAttentionCost = 4.0;

class AttentionScratch;

/// Does this kernel need an AttentionScratch?
constexpr bool needs_scratch(AttentionKernel kind) {
  return kind != AttentionKernel::Naive && kind != AttentionKernel::Tiled && kind != AttentionKernel::Host;
}

/// The structure with which attention() computes under this mask: the fastest one, or where that is a function of the
/// program and the mask has expressions, blocks of queries.
AttentionKernel attention_kernel(const Kernels& kernels, const MaskData& mask);

/// The inputs of an attention. Query heads share KV heads where there are fewer of those (grouped-query attention).
///   q [item, head, query, d_k], k [item, KV head, key, d_k], v [item, KV head, key, d_v]
struct AttentionInputs {
  const DeviceTensor& q;
  const DeviceTensor& k;
  const DeviceTensor& v;
  MaskData mask;
  float scale = 1.0f;
  float softcap = 0.0f;  ///< scaled scores s become softcap · tanh(s / softcap) (Gemma 2); 0: off
  Rows queries;          ///< the computed ones, up to the last query
  std::uint32_t keys = 0;
};

/// The outputs of an attention.
///   merged [item, 1, query, heads · padded d_v]
///   stats  [item, head, query] (m, l) float pairs: the row's largest visible score and Σ exp(score − m)
struct AttentionOutputs {
  const DeviceTensor& merged;
  const DeviceTensor& stats;
  MergedLayout layout;
};

/// Push constants of every attention kernel, except first_item and the scratch's rows.
AttentionParameters attention_parameters(const AttentionInputs& inputs, const AttentionOutputs& outputs);

/// O = softmax(masked(scale · Q·Kᵀ)) · V, written straight into the merged matrix; no n × n matrix is stored
/// ("Attention Is All You Need", eq. 1; torch.nn.functional.scaled_dot_product_attention).
/// `scratch` is needed when needs_scratch(attention_kernel(kernels, inputs.mask)), made for at least these sizes.
void attention(gpu::Stream& stream, Kernels& kernels, const AttentionInputs& inputs, const AttentionOutputs& outputs,
               const AttentionScratch* scratch);

/// The (m, l) tensor that attention() writes.
DeviceTensor make_stats(gpu::Stream& stream, std::uint32_t items, std::uint32_t heads, std::uint32_t queries);

/// The division of attention_tiled.comp's work among workgroups.
struct AttentionTiles {
  std::uint32_t lanes = 64;  ///< of a workgroup, which decide the next
  std::uint32_t rows = 32;   ///< queries of a workgroup
  std::uint32_t parts = 1;   ///< into which the keys are split; their results are merged by attention_merge.comp

  bool operator==(const AttentionTiles&) const = default;
};

/// Chooses the tiles for `rows` queries of each of `maps` heads and batch items and for `keys` keys, with values of
/// `d_v4` vec4: large tiles where they give every core of the device something to do, else small ones, and parts of the
/// keys where those are too few as well. Workgroups have at most `most_lanes` lanes, for which there are kernels.
AttentionTiles choose_attention_tiles(const gpu::DeviceInfo& device, std::uint32_t rows, std::uint32_t maps,
                                      std::uint32_t keys, std::uint32_t d_v4, std::uint32_t most_lanes = 256);

/// Bytes of the parts' sums between attention_tiled.comp and attention_merge.comp, and of their (m, l) pairs.
struct PartBytes {
  std::size_t sums = 0, stats = 0;
};
PartBytes part_bytes(std::uint32_t parts, std::uint32_t rows, std::uint32_t maps, std::uint32_t d_v4);

}  // namespace headlight::ops
