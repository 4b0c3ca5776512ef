#include "ops/layer_norm.h"

#include <algorithm>
#include <vector>

#include "gpu/transfer.h"
#include "ops/parameters.h"

namespace headlight::ops {

DeviceLayerNorm upload_layer_norm(gpu::Context& context, std::span<const float> weight, std::span<const float> bias,
                                  float epsilon) {
  const std::size_t padded = (weight.size() + 3) / 4 * 4;
  std::vector<float> affine(2 * padded, 0.0f);
  std::copy(weight.begin(), weight.end(), affine.begin());
  std::copy(bias.begin(), bias.end(), affine.begin() + static_cast<std::ptrdiff_t>(padded));
  DeviceLayerNorm norm{gpu::Buffer(context, affine.size() * sizeof(float), gpu::Memory::Device, "a layer norm"), epsilon};
  gpu::write(context, norm.affine, 0, std::span<const float>(affine));
  return norm;
}

void add_layer_norm(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const DeviceTensor& y,
                    const DeviceLayerNorm& norm, const DeviceTensor& result) {
  constexpr std::uint32_t kRowsPerGroup = 64;
  LayerNormParameters parameters{};
  parameters.tokens = x.tokens;
  parameters.width = x.width;
  parameters.width4 = x.width4();
  parameters.stride4 = x.stride4();
  parameters.epsilon = norm.epsilon;
  const auto per_slice =
      static_cast<std::uint32_t>(std::min<std::size_t>(x.items, kernels.max_binding(false) / x.item_bytes()));
  for (std::uint32_t item = 0; item < x.items; item += per_slice) {
    const std::uint32_t items = std::min(per_slice, x.items - item);
    parameters.rows = items * x.tokens;
    stream.dispatch(kernels["add_layer_norm"],
                    {x.slice(item, items), y.slice(item, items), norm.affine, result.slice(item, items)}, parameters,
                    {divide_up(parameters.rows, kRowsPerGroup), 1, 1});
  }
}

}  // namespace headlight::ops
