#pragma once

#include <map>
#include <memory>
#include <vector>

#include "attention/run.h"
#include "gpu/stream.h"
#include "inference/device_layers.h"
#include "inference/reuse.h"
#include "inference/tensor_pool.h"
#include "model/network.h"
#include "ops/kernels.h"

namespace headlight::inference {

/// The weights of a network on the device; embeddings are null where the input brings vectors.
struct DeviceNetwork {
  const DeviceLayers* layers = nullptr;
  const DeviceEmbedding* source_embedding = nullptr;
  const DeviceEmbedding* target_embedding = nullptr;
};

/// A recorded pass: what it leaves, and what the device needs only until it is done.
struct Forward {
  attention::AttentionRun run;
  std::vector<std::shared_ptr<const gpu::Buffer>> tables;  ///< angles and positions of rotary models
};

/// Records a whole forward pass on the stream, embedding to the last layer's state, or the part of it that `plan` says; the
/// run's tensors hold its results once the stream has been submitted and waited for. Tensors come from the pool.
/// Throws Error when the device can't hold it.
Forward record_forward(gpu::Stream& stream, ops::Kernels& kernels, const DeviceNetwork& device, const PassInputs& pass,
                       const PassPlan& plan, TensorPool& pool);

}  // namespace headlight::inference
