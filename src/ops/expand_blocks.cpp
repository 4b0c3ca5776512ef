#include "ops/expand_blocks.h"

#include "ops/parameters.h"

namespace headlight::ops {

void expand_blocks(gpu::Stream& stream, Kernels& kernels, const PackedLinear& weight, const PackedLinear::Run& run,
                   const ExpandedTiles& of, const gpu::Slice& to) {
  constexpr std::size_t kAlignment = 256;  // that any device has for where a binding begins
  constexpr std::uint32_t kNumbers = 32;   // of each row of a workgroup
  const std::size_t begin = run.byte_of(of.first_tile), bound = begin / kAlignment * kAlignment;
  const gpu::Slice blocks(weight.weight, bound, begin + of.tiles * run.tile_bytes - bound);
  const ExpandBlocksParameters parameters{.inner = weight.inner4 * 4,
                                          .first_byte = static_cast<std::uint32_t>(begin - bound),
                                          .first_tile = of.first_tile,
                                          .expert_tiles = of.expert_tiles,
                                          .experts = of.experts,
                                          .pairs = of.pairs};
  const gpu::Kernel& kernel = kernels[{.shader = Shader::ExpandBlocks,
                                       .of_experts = of.routing != nullptr,
                                       .constants = {static_cast<std::uint32_t>(run.type)}}];
  const gpu::Groups groups{parameters.inner / kNumbers, of.tiles, 1};
  const std::size_t numbers = to.size / sizeof(float);
  const auto work = static_cast<double>(numbers);
  if (of.routing == nullptr) return stream.dispatch(kernel, {blocks, to}, parameters, groups, work);
  stream.dispatch(kernel, {blocks, to, *of.routing}, parameters, groups, work);
}

}  // namespace headlight::ops
