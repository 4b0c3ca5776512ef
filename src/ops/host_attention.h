#pragma once

#include "ops/attention.h"

namespace headlight::ops {

/// Can functions of the program compute it: is the device a processor, and every buffer in the program's memory?
bool can_run_on_host(const Kernels& kernels, const AttentionInputs& inputs, const AttentionOutputs& outputs);

/// attention() as one step of the host (gpu::Stream::run_on_host), computed by the processor's cores: blocks of queries of
/// one head whose scores stay in a core's cache between QKᵀ, softmax and the product with V. Limits of the device's bindings
/// and grids don't hold for it. Buffers must live until the submission has ended.
void attention_on_host(gpu::Stream& stream, Kernels& kernels, const AttentionInputs& inputs,
                       const AttentionOutputs& outputs);

}  // namespace headlight::ops
