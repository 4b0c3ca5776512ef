#pragma once

#include "gpu/buffer.h"
#include "ops/norm.h"
#include "ops/parameters.h"
#include "ops/rotate.h"

namespace headlight::ops {

/// Are linear layers steps of the host here? Then norms and rotations between them are too: as dispatches each would cost
/// two waits for the device.
bool rows_on_host(const Kernels& kernels);

/// norm() as one step of the host (gpu::Stream::run_on_host); `parameters` as shaders/norm.comp has them, `rows` of all
/// items. False, and nothing is recorded, where a buffer isn't in the program's memory.
bool norm_on_host(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const DeviceTensor& y,
                  const gpu::Buffer& affine, const DeviceTensor& result, const NormParameters& parameters);

/// rotate(), likewise; `parameters` as shaders/rotate.comp has them.
bool rotate_on_host(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const RotaryAngles& angles,
                    const RotateParameters& parameters);

/// Is the slice in the program's memory?
inline bool is_mapped(const gpu::Slice& slice) { return !slice.buffer->mapped().empty(); }

/// The numbers of a mapped slice; valid as long as its buffer.
template <typename T>
T* numbers(const gpu::Slice& slice) {
  return reinterpret_cast<T*>(slice.buffer->mapped().data() + slice.offset);
}

}  // namespace headlight::ops
