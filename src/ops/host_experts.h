#pragma once

#include "ops/experts.h"
#include "ops/parameters.h"

namespace headlight::ops {

// The ops of experts.h as steps of the host (gpu::Stream::run_on_host), with the parameters of their shaders. False, and
// nothing is recorded, where the device isn't a processor or a buffer isn't in the program's memory. Buffers must live until
// the submission has ended.

bool route_on_host(gpu::Stream& stream, Kernels& kernels, const gpu::Slice& logits, const gpu::Slice& gates,
                   const gpu::Buffer& routing, const ExpertsParameters& parameters);

/// Pairs read rows of x as `parameters` says.
bool expert_linear_on_host(gpu::Stream& stream, Kernels& kernels, const gpu::Slice& x, const ExpertLinear& linear,
                           const DeviceTensor& y, const LinearParameters& parameters);

bool sum_experts_on_host(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& results, const gpu::Buffer& routing,
                         const gpu::Slice& y, const gpu::Slice& shared, const gpu::Slice& gate,
                         const ExpertsParameters& parameters);

}  // namespace headlight::ops
