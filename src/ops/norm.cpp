#include "ops/norm.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "gpu/transfer.h"
#include "ops/host_operations.h"
#include "ops/parameters.h"

namespace headlight::ops {

DeviceNorm upload_norm(gpu::Context& context, std::span<const float> weight, std::span<const float> bias, float epsilon,
                       bool is_rms, const NormHeads& heads) {
  const std::size_t width = weight.size() / heads.count, padded = (width + 3) / 4 * 4;
  std::vector<float> affine(2 * padded * heads.count, 0.0f);
  for (std::size_t head = 0; head < heads.count; ++head) {
    const std::size_t at = head * padded * (heads.spans ? 1 : 2), to_bias = padded * (heads.spans ? heads.count : 1);
    for (std::size_t i = 0; i < width; ++i) {
      affine[at + i] = weight[head * width + i];
      if (!bias.empty()) affine[at + to_bias + i] = bias[head * width + i];
    }
  }
  DeviceNorm norm{gpu::Buffer(context, affine.size() * sizeof(float), gpu::Memory::Device, "a norm"), epsilon, is_rms,
                  heads};
  gpu::write(context, norm.affine, 0, std::span<const float>(affine));
  return norm;
}

void norm(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const DeviceNorm& weights,
          const DeviceTensor& result, const NormOptions& options) {
  constexpr std::uint32_t kRowsPerGroup = 8;  // one lane a row
  const gpu::DeviceInfo& device = kernels.context().device();
  const Rows rows = options.rows.value_or(x.all());
  NormParameters parameters{};
  parameters.tokens = rows.count;
  parameters.first = rows.first;
  parameters.out_first = options.out_first.value_or(rows.first);
  parameters.pieces = weights.heads.spans ? x.heads : 1;
  parameters.heads = x.heads / parameters.pieces;
  parameters.affine_stride4 = weights.heads.spans || weights.heads.count == 1 ? 0 : 2 * x.width4();
  parameters.capacity = x.tokens;
  parameters.out_capacity = result.tokens;
  parameters.width = x.width;
  parameters.width4 = x.width4();
  parameters.stride4 = x.stride4();
  parameters.out_stride4 = result.stride4();
  parameters.adds = options.y == nullptr ? 0 : options.adds_after ? 2 : 1;
  parameters.is_rms = weights.is_rms ? 1 : 0;
  parameters.epsilon = weights.epsilon;
  parameters.clip = options.clip;
  if (!options.is_wide && rows_on_host(kernels)) {
    parameters.rows = x.items * parameters.heads * rows.count;
    const DeviceTensor& y = options.y != nullptr ? *options.y : x;
    if (norm_on_host(stream, kernels, x, y, weights.affine, result, parameters)) return;
  }
  bool texel = kernels.tuning().texel_reads && x.item_bytes() <= kernels.max_binding(true);
  bool is_wide = options.is_wide.value_or(!device.is_cpu);
  const auto variant = [&] {
    return KernelVariant{.shader = Shader::Norm, .reads_texels = texel, .constants = {is_wide ? 64 : kRowsPerGroup}};
  };
  if (texel) texel = kernels.find(variant()) != nullptr;
  if (kernels.find(variant()) == nullptr) is_wide = !is_wide;
  const std::uint32_t per_group = is_wide ? 1 : kRowsPerGroup;
  const std::size_t by_range =
      std::min(kernels.max_binding(texel) / x.item_bytes(), kernels.max_binding(false) / result.item_bytes());
  const std::size_t by_grid =
      std::size_t{device.max_groups[0]} * device.max_groups[1] * per_group / (std::size_t{x.heads} * rows.count);
  const auto per_slice = static_cast<std::uint32_t>(std::min<std::size_t>({x.items, by_range, by_grid}));
  if (per_slice == 0) {
    throw Error("{} tokens × {} numbers are more than '{}' can bind at once; make the text shorter", x.tokens, x.width,
                device.name);
  }
  for (std::uint32_t item = 0; item < x.items; item += per_slice) {
    const std::uint32_t items = std::min(per_slice, x.items - item);
    parameters.rows = items * parameters.heads * rows.count;
    const Kernels::Fold fold = kernels.fold(divide_up(parameters.rows, per_group));
    const DeviceTensor& y = options.y != nullptr ? *options.y : x;
    stream.dispatch(kernels[variant()],
                    {x.slice(item, items), y.slice(item, items), weights.affine, result.slice(item, items)}, parameters,
                    {fold.groups, fold.rows, 1});
  }
}

}  // namespace headlight::ops
