#include "ops/attention_blocks.h"

#include <algorithm>

#include "core/error.h"

namespace headlight::ops {
namespace {

constexpr std::size_t kScratchBytes = std::size_t{4} << 20;  // of scores, and again of weights

/// The kernels of the three steps, and how many rows a workgroup of the first and of the last has.
struct BlockKernels {
  KernelVariant scores, softmax, values;
  std::uint32_t score_rows = 1, value_rows = 1;
};

BlockKernels choose_block_kernels(const Kernels& kernels, AttentionKernel kind, const BlockInputs& inputs,
                                  const AttentionParameters& parameters) {
  const bool texel = is_texel(kind), shuffle = is_shuffle(kind) && can_shuffle(kernels.context().device());
  const bool is_one_row = parameters.queries == parameters.block_row + 1;
  const std::uint32_t score_rows = is_one_row ? 1 : shuffle ? 16 : 8, value_rows = is_one_row ? 1 : 8;
  const auto variant = [&](Shader shader, std::uint32_t rows, std::string expressions = {}) {
    return KernelVariant{.shader = shader,
                         .reads_texels = texel,
                         .shuffles = shuffle && !is_one_row,
                         .constants = {rows, shader == Shader::AttentionBlockScores ? kernels.rounds_products() : 0},
                         .expressions = std::move(expressions)};
  };
  const bool has_extras = parameters.softcap > 0.0f || parameters.bias_at != 0 ||
                          (inputs.expressions != nullptr && inputs.expressions->changes_scores);
  const KernelVariant softmax{.shader = Shader::AttentionBlockSoftmax,
                              .reads_texels = texel,
                              .constants = {has_extras ? 1u : 0u},
                              .expressions = inputs.expressions != nullptr ? inputs.expressions->glsl : std::string()};
  // Rows that attend to all keys alike are made in the last step.
  const bool drops_weights = inputs.expressions != nullptr && inputs.expressions->drops_weights;
  return {variant(Shader::AttentionBlockScores, score_rows), softmax,
          variant(Shader::AttentionBlockValues, value_rows, drops_weights ? inputs.expressions->glsl : std::string()),
          score_rows, value_rows};
}

}  // namespace

ScratchSize scratch_size(const gpu::DeviceInfo& device, std::uint32_t heads, std::uint32_t queries, std::uint32_t keys,
                         std::uint32_t items) {
  constexpr std::size_t kFewestRows = 8;  // a workgroup's
  const std::size_t row_bytes = std::size_t{heads} * divide_up(keys, 4) * DeviceTensor::kVec4Bytes;
  if (kFewestRows * row_bytes > device.max_storage_range) {
    throw Error(
        "8 rows of {} scores × {} heads are more than the {} MiB that '{}' can bind at once; make the text or the model "
        "smaller",
        keys, heads, device.max_storage_range >> 20, device.name);
  }
  // Texel reads are preferred where they are the fastest, so the scratch fits their range too if possible.
  const std::size_t budget =
      std::min({kScratchBytes, device.max_storage_range, device.max_texel_elements * DeviceTensor::kVec4Bytes});
  ScratchSize size;
  size.items = static_cast<std::uint32_t>(std::clamp<std::size_t>(budget / (kFewestRows * row_bytes), 1, items));
  const std::size_t affordable = budget / (size.items * row_bytes) / kFewestRows * kFewestRows;
  size.rows =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(affordable, kFewestRows, divide_up(queries, 8) * kFewestRows));
  size.buffer_bytes = size.items * size.rows * row_bytes;
  return size;
}

AttentionScratch::AttentionScratch(gpu::Context& context, std::uint32_t heads, std::uint32_t queries, std::uint32_t keys,
                                   std::uint32_t items)
    : size_(scratch_size(context.device(), heads, queries, keys, items)),
      scores_(context, size_.buffer_bytes, gpu::Memory::Device, "a block of scores"),
      weights_(context, size_.buffer_bytes, gpu::Memory::Device, "a block of weights") {}

bool has_block_kernels(Kernels& kernels, AttentionKernel kind, const BlockInputs& inputs,
                       const AttentionParameters& parameters) {
  const BlockKernels chosen = choose_block_kernels(kernels, kind, inputs, parameters);
  // All three are asked for, so that those that aren't compiled are listed together.
  const bool has_scores = kernels.find(chosen.scores) != nullptr, has_softmax = kernels.find(chosen.softmax) != nullptr;
  return (kernels.find(chosen.values) != nullptr) && has_scores && has_softmax;
}

void attention_blocks(gpu::Stream& stream, Kernels& kernels, AttentionKernel kind, const AttentionScratch& scratch,
                      const BlockInputs& inputs, AttentionParameters parameters, BlockSteps steps) {
  const BlockKernels chosen = choose_block_kernels(kernels, kind, inputs, parameters);
  constexpr std::uint32_t kScoreKeys = 32, kSoftmaxRows = 8, kValueColumns4 = 16;
  const std::uint32_t maps = inputs.items * parameters.heads;
  parameters.block_rows = scratch.rows();
  const double row_cost = kAttentionCost * maps * parameters.keys * 4.0;  // for each vec4 of a head
  for (; parameters.block_row < parameters.queries; parameters.block_row += scratch.rows()) {
    const std::uint32_t rows = std::min(scratch.rows(), parameters.queries - parameters.block_row);
    if (steps.scores) {
      stream.dispatch(kernels[chosen.scores], {inputs.q, inputs.k, inputs.mask, scratch.scores()}, parameters,
                      {divide_up(parameters.keys, kScoreKeys), divide_up(rows, chosen.score_rows), maps},
                      row_cost * rows * parameters.d_k4);
    }
    if (steps.softmax) {
      stream.dispatch(kernels[chosen.softmax], {scratch.scores(), inputs.mask, scratch.weights(), inputs.stats}, parameters,
                      {divide_up(rows, kSoftmaxRows), maps, 1});
    }
    if (steps.values) {
      stream.dispatch(kernels[chosen.values], {scratch.weights(), inputs.v, inputs.mask, inputs.stats, inputs.merged},
                      parameters, {divide_up(rows, chosen.value_rows), maps, divide_up(parameters.d_v4, kValueColumns4)},
                      row_cost * rows * parameters.d_v4);
    }
  }
}

}  // namespace headlight::ops
