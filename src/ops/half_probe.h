#pragma once

namespace headlight::ops {

class Kernels;

/// Which of a device's conversions from float16 keep subnormal numbers (below 2^-14). Vulkan lets each flush them to 0, and
/// no property of a device says whether it does.
struct HalfConversions {
  bool unpacking_keeps = false;  ///< unpackHalf2x16
  bool texels_keep = false;      ///< texel buffers of float16
};

/// Asks the device by a small dispatch. Where that fails, neither is relied on; throws Error of kind DeviceLost.
HalfConversions probe_halves(Kernels& kernels);

}  // namespace headlight::ops
