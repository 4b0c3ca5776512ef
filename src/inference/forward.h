#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "attention/mask.h"
#include "attention/run.h"
#include "gpu/stream.h"
#include "inference/device_layers.h"
#include "model/network.h"
#include "ops/attention_blocks.h"
#include "ops/kernels.h"

namespace headlight::inference {

/// A recorded pass: what it leaves, and what the device needs only until it is done.
struct Forward {
  attention::AttentionRun run;
  std::vector<std::shared_ptr<const ops::DeviceTensor>> intermediates;
  std::map<std::array<std::uint32_t, 3>, std::unique_ptr<ops::AttentionScratch>> scratches;  ///< by heads, queries, keys
};

/// Records a whole forward pass on the stream, embedding to logits; the run's tensors hold its results once the stream has
/// been submitted and waited for. Throws Error when the device can't hold it.
Forward record_forward(gpu::Stream& stream, ops::Kernels& kernels, const model::Network& network, const DeviceLayers& layers,
                       const model::ModelInput& input, const attention::MaskSet& masks);

}  // namespace headlight::inference
