#pragma once

#include "ops/attention.h"

namespace headlight::ops {

/// The capacity of a scratch. Two buffers have these sizes: one of scores, one of weights.
struct ScratchSize {
  std::uint32_t rows = 0;   ///< of a block, a multiple of 8
  std::uint32_t items = 0;  ///< batch items at once, at least 1
  std::size_t buffer_bytes = 0;
};

/// The scratch that a device needs for any attention of up to these sizes. Throws Error when it can't bind 8 rows of every
/// head at once.
ScratchSize scratch_size(const gpu::DeviceInfo& device, std::uint32_t heads, std::uint32_t queries, std::uint32_t keys,
                         std::uint32_t items = 1);

/// The scratch of attention by blocks of queries: scores and weights of as many rows as fit a fixed budget, so that device
/// memory grows with n, not with n², and a CPU keeps the scratch in its cache.
class AttentionScratch {
 public:
  /// Makes scratch for any attention of up to these sizes. Throws Error as scratch_size() does.
  AttentionScratch(gpu::Context& context, std::uint32_t heads, std::uint32_t queries, std::uint32_t keys,
                   std::uint32_t items = 1);

  std::uint32_t rows() const { return size_.rows; }
  std::uint32_t items() const { return size_.items; }
  const gpu::Buffer& scores() const { return scores_; }
  const gpu::Buffer& weights() const { return weights_; }

 private:
  ScratchSize size_;
  gpu::Buffer scores_, weights_;
};

/// The part of the calculation to record, so that each can be measured separately.
struct BlockSteps {
  bool scores = true, softmax = true, values = true;
};

/// attention() by blocks of queries, three dispatches a block; `kind` is one of the Blocks kinds. `parameters` and the
/// slices hold for a run of batch items.
struct BlockInputs {
  gpu::Slice q, k, v, mask, merged, stats;
  std::uint32_t items = 0;
  const MaskExpressions* expressions = nullptr;  ///< null: none
};
/// Does the driver make the three kernels?
bool has_block_kernels(Kernels& kernels, AttentionKernel kind, const BlockInputs& inputs,
                       const AttentionParameters& parameters);
void attention_blocks(gpu::Stream& stream, Kernels& kernels, AttentionKernel kind, const AttentionScratch& scratch,
                      const BlockInputs& inputs, AttentionParameters parameters, BlockSteps steps = {});

}  // namespace headlight::ops
