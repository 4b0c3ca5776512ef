#pragma once

#include "attention/run.h"
#include "gpu/stream.h"
#include "inference/device_layers.h"
#include "inference/reuse.h"
#include "inference/run_tensors.h"
#include "model/network.h"
#include "ops/kernels.h"

namespace headlight::inference {

/// The weights of a network on the device; embeddings are null where the input brings vectors.
struct DeviceNetwork {
  const DeviceLayers* layers = nullptr;
  const DeviceEmbedding* source_embedding = nullptr;
  const DeviceEmbedding* target_embedding = nullptr;
};

/// The tensors that a pass computes in, and the run that it takes numbers over from.
struct PassTensors {
  RunTensors& run;
  ScratchTensors& scratch;
  const attention::AttentionRun* base = nullptr;  ///< whose numbers the plan keeps; null: none
  /// In a pass of copies, the base's states that each stack begins with, and the item that is copied; null in other
  /// passes.
  attention::DeviceTensorPtr copied_source = {}, copied_target = {};
  std::uint32_t copied_item = 0;
};

/// A recorded pass: what it leaves, and what the device needs only until it is done.
struct Forward {
  attention::AttentionRun run;
  /// Angles and positions of rotary models, vectors of interventions.
  std::vector<std::shared_ptr<const gpu::Buffer>> buffers;
};

/// Records a whole forward pass on the stream, embedding to the last layer's state, or the part of it that `plan` says; the
/// run's tensors hold its results once the stream has been submitted and waited for. `end_layer` is called when a layer is
/// recorded; it may submit what is on the stream and put another one in its place.
/// Throws Error when the device can't hold it.
Forward record_forward(gpu::Stream& stream, ops::Kernels& kernels, const DeviceNetwork& device, const PassInputs& pass,
                       const PassPlan& plan, const PassTensors& tensors, const std::function<void()>& end_layer = {});

}  // namespace headlight::inference
