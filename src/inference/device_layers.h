#pragma once

#include <map>
#include <memory>

#include "gpu/context.h"
#include "model/network.h"
#include "ops/experts.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/packed_linear.h"

namespace headlight::inference {

struct DeviceBranchNorms {
  std::optional<ops::DeviceNorm> before, inside, after;
  bool is_bare_residual = false;
  float scale = 1.0f;  ///< of the branch, in its sum with the residual

  bool is_empty() const { return !before && !inside && !after && !is_bare_residual; }
};

struct DeviceFeedForward {
  ops::PackedLinear in, out;
  std::optional<ops::PackedLinear> gate;
  std::uint32_t width = 0;
  ops::Activation activation = ops::Activation::None;
};

/// A mixture of experts; weights of all experts are sections of one.
struct DeviceExperts {
  ops::PackedLinear router;
  DeviceFeedForward experts;
  ops::ExpertCounts counts;
  std::optional<DeviceFeedForward> shared;
  std::optional<ops::PackedLinear> shared_gate;
};

/// One attention layer's weights on the device.
struct DeviceLayer {
  std::optional<ops::PackedLinear> projections;  ///< sections query, key, value; none with given Q, K and V
  std::optional<ops::PackedLinear>
      position_projections;  ///< sections of vectors of distances, where these have projections of their own
  std::optional<ops::PackedLinear> output;
  /// An identity that moves the heads out of their padded slots, so that they are a hidden state; only where there is
  /// no output projection but something reads the layer's result.
  std::optional<ops::PackedLinear> unpad;
  std::optional<ops::DeviceNorm> query_norm, key_norm;
  DeviceBranchNorms norms;
  std::optional<DeviceFeedForward> feed_forward;
  std::optional<DeviceExperts> experts;
  DeviceBranchNorms feed_forward_norms;

  bool has_feed_forward() const { return feed_forward || experts; }
};

struct DeviceDecoderLayer {
  std::shared_ptr<const DeviceLayer> self;  ///< null where there is none
  std::shared_ptr<const DeviceLayer> cross;
};

struct DeviceUnembedding {
  std::optional<ops::PackedLinear> transform;
  std::optional<ops::DeviceNorm> norm;
  ops::PackedLinear linear;
};

/// Translators of one linear lens on the device, I + W and b, each from its first use on, until the lens is left or another
/// one takes their place. Used by the thread that uses the session.
class DeviceLens {
 public:
  /// Throws Error when the device can't hold it.
  std::shared_ptr<const ops::PackedLinear> of(gpu::Context& context, const std::shared_ptr<const model::Linear>& translator);
  /// Frees the translators of a lens that only this object knows.
  void release_left() {
    if (lens_.expired()) translators_.clear();
  }

 private:
  std::weak_ptr<const model::Linear> lens_;  ///< one of the translators, which live as long as their lens
  std::map<const model::Linear*, std::shared_ptr<const ops::PackedLinear>> translators_;
};

/// model::Layers on the device: uploaded once, constant until they go. Layers that share their weights (ALBERT) share them
/// here.
struct DeviceLayers {
  std::shared_ptr<const model::Layers> source;  ///< kept, so that no other layers can get its address meanwhile
  std::vector<std::shared_ptr<const DeviceLayer>> encoder;
  std::vector<DeviceDecoderLayer> decoder;
  std::optional<ops::DeviceNorm> encoder_norm, decoder_norm;
  std::optional<DeviceUnembedding> unembedding;
  std::shared_ptr<DeviceLens> lens = std::make_shared<DeviceLens>();  ///< that states are read by
};

/// The norm and the projection that follow the token vectors of an embedding.
struct DeviceEmbedding {
  std::shared_ptr<const model::Embedding> source;
  std::optional<ops::DeviceNorm> norm;
  std::optional<ops::PackedLinear> projection;
};

/// Bytes that are on the device, and all of them; false stops.
using UploadObserver = std::function<bool(std::size_t done_bytes, std::size_t total_bytes)>;

/// The first layers of the encoder while the others are still to come.
struct FirstUpload {
  std::uint32_t count = 0;  ///< of layers; 0, or as many as there are: nothing is reported
  /// Called when these layers are on the device; `bytes` of `total` are there.
  std::function<void(const std::vector<std::shared_ptr<const DeviceLayer>>& layers, std::size_t bytes, std::size_t total)>
      ready = {};
};

/// Bytes that upload_layers() will take on the device. `has_halves`: weights of linear layers are rounded to float16; else
/// they are what ops::WeightType has of their file, or float32.
std::size_t device_bytes(const model::Layers& layers, bool has_halves);

/// Throws Error when the device can't hold them, before anything is allocated, and when the observer says stop.
DeviceLayers upload_layers(gpu::Context& context, std::shared_ptr<const model::Layers> layers, bool has_halves,
                           const UploadObserver& observer = {}, const FirstUpload& first = {});

/// A single weight as float32, in memory that goes with it.
ops::PackedLinear upload_linear(gpu::Context& context, const model::Linear& linear, std::string_view purpose);

DeviceEmbedding upload_embedding(gpu::Context& context, std::shared_ptr<const model::Embedding> embedding);

}  // namespace headlight::inference
