#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gpu/context.h"
#include "model/network.h"
#include "ops/layer_norm.h"
#include "ops/packed_linear.h"

namespace headlight::inference {

/// One attention layer's weights on the device.
struct DeviceLayer {
  std::optional<ops::PackedLinear> projections;  ///< sections query, key, value
  std::optional<ops::PackedLinear> output;
  /// Without an output projection but with something behind it: the identity, which takes merged heads out of their padded
  /// slots, so that they are a hidden state.
  std::optional<ops::PackedLinear> unpad;
  std::optional<ops::DeviceLayerNorm> norm;
  std::optional<ops::PackedLinear> feed_forward_in, feed_forward_out;
  std::uint32_t feed_forward_width = 0;
  std::optional<ops::DeviceLayerNorm> feed_forward_norm;
};

struct DeviceDecoderLayer {
  std::optional<DeviceLayer> self;
  DeviceLayer cross;
};

/// model::Layers on the device: uploaded once, constant until they go.
struct DeviceLayers {
  std::shared_ptr<const model::Layers> source;  ///< kept, so that no other layers can get its address meanwhile
  std::vector<DeviceLayer> encoder;
  std::vector<DeviceDecoderLayer> decoder;
  std::optional<ops::PackedLinear> unembedding;
};

/// Throws Error when the device can't hold them.
DeviceLayers upload_layers(gpu::Context& context, std::shared_ptr<const model::Layers> layers);

}  // namespace headlight::inference
