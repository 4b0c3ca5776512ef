#pragma once

#include "gpu/stream.h"
#include "ops/device_tensor.h"
#include "ops/kernels.h"

namespace headlight::ops {

/// Weight and bias of a LayerNorm on the device, [2, width].
struct DeviceLayerNorm {
  gpu::Buffer affine;
  float epsilon = 1e-5f;
};
/// `weight` and `bias` are [width].
DeviceLayerNorm upload_layer_norm(gpu::Context& context, std::span<const float> weight, std::span<const float> bias,
                                  float epsilon);

/// result = LayerNorm(x + y) (torch.nn.LayerNorm over the last axis); all three [item, 1, token, width].
void add_layer_norm(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const DeviceTensor& y,
                    const DeviceLayerNorm& norm, const DeviceTensor& result);

}  // namespace headlight::ops
