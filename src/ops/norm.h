#pragma once

#include "gpu/stream.h"
#include "ops/device_tensor.h"
#include "ops/kernels.h"

namespace headlight::ops {

/// The way in which a norm treats the heads of a token.
struct NormHeads {
  std::uint32_t count = 1;  ///< that have weights of their own, or that the norm spans; 1: all have the same
  bool spans = false;       ///< mean and variance are of all heads together
};

/// Weight and bias of a norm on the device: [2, width], [heads, 2, width], or [2, heads · width] where it spans them.
struct DeviceNorm {
  gpu::Buffer affine;
  float epsilon = 1e-5f;
  bool is_rms = false;  ///< torch.nn.RMSNorm instead of torch.nn.LayerNorm
  NormHeads heads = {};
};
/// `weight` is [heads.count · width], `bias` too or empty.
DeviceNorm upload_norm(gpu::Context& context, std::span<const float> weight, std::span<const float> bias, float epsilon,
                       bool is_rms = false, const NormHeads& heads = {});

struct NormOptions {
  const DeviceTensor* y = nullptr;              ///< of x's shape: norm(x + y) …
  bool adds_after = false;                      ///< … or y + norm(x)
  std::optional<Rows> rows = {};                ///< tokens of x; none: its whole capacity
  std::optional<std::uint32_t> out_first = {};  ///< row of the result for the first of `rows`; none: the same
  float clip = 0.0f;                            ///< the norm is cut to ±clip; 0: not
  std::optional<bool> is_wide = {};             ///< a workgroup per row instead of a lane; none: by device, wide on GPUs
};

/// result = norm(x) over the last axis (torch.nn.LayerNorm, torch.nn.RMSNorm) of [item, head, token, width]; the result may
/// be x itself. Weights of several heads are of as many as x has.
void norm(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const DeviceNorm& weights,
          const DeviceTensor& result, const NormOptions& options = {});

}  // namespace headlight::ops
