#pragma once

#include <utility>

#include "inference/forward.h"
#include "ops/rotate.h"

namespace headlight::inference {

using Hidden = attention::DeviceTensorPtr;  // [batch, 1, token, width]
using StreamStages = std::map<attention::Stage, Hidden>;

/// Keeps a tensor as a stage, where it is one of the wanted ones.
inline void keep(StreamStages* stages, attention::Stage stage, const Hidden& tensor) {
  if (stages == nullptr) return;
  if (const auto wanted = stages->find(stage); wanted != stages->end()) wanted->second = tensor;
}

inline bool is_wanted(const StreamStages* stages, attention::Stage stage) {
  return stages != nullptr && stages->contains(stage);
}

/// The part of a layer that a pass computes: which tokens, and in an attention to other keys, which of these keys are
/// new.
struct LayerPosition {
  model::BlockRef ref;
  ops::Rows rows;
  std::uint32_t capacity = 0;      ///< tokens that the queries' tensors have room for
  std::uint32_t key_capacity = 0;  ///< tokens that the keys' tensors have room for
  ops::Rows key_rows;              ///< of an attention to a memory; otherwise the queries' rows
  TensorKey result;                ///< the layer's state goes there
};

/// Records layers: attention with its norms and residual, then the feed-forward with its own.
class LayerRecorder {
 public:
  LayerRecorder(gpu::Stream& stream, ops::Kernels& kernels, const PassInputs& pass, const PassTensors& tensors,
                Forward& forward)
      : stream_(stream), kernels_(kernels), pass_(pass), tensors_(tensors), forward_(forward) {}

  /// One attention block and what follows it; returns the next hidden state. x and memory are null with given Q, K, V.
  Hidden layer(const LayerPosition& place, const model::AttentionLayer& layer, const DeviceLayer& device, const Hidden& x,
               const Hidden& memory);

  /// The layer's input with the pass's interventions on its residual stream, in a tensor of its own; x itself without any.
  Hidden edited_input(const LayerPosition& place, const Hidden& x);

  /// Stages of the stream (attention::is_of_stream) in a pass whose `block` that was and whose input was x, computed again
  /// for `place.rows`: what the pass computed too has the same bits. `stages` has the wanted ones as its keys.
  void stream_stages(const LayerPosition& place, const model::AttentionLayer& layer, const DeviceLayer& device,
                     attention::BlockRun block, const Hidden& x, StreamStages& stages);

  /// Returns the run's tensor of the key, or one of the scratch where the key's role is scratch; the pass writes `rows`
  /// of it.
  Hidden tensor(const TensorKey& key, std::uint32_t capacity, std::uint32_t width, ops::Rows rows, std::string_view purpose);
  Hidden normed(const TensorKey& key, const Hidden& x, const ops::DeviceNorm& norm, ops::Rows rows);

 private:
  /// Heads of a site's tensor, and numbers of a token in each.
  struct SiteHeads {
    std::uint32_t heads = 0, width = 0;
  };
  struct Branch {
    const Hidden& input;              ///< of the linear layer that ends the branch
    const ops::PackedLinear* linear;  ///< null: `compute` is in its place
    const DeviceBranchNorms& norms;
    const Hidden& residual;    ///< what is added
    TensorKey plain;           ///< where the linear layer's own result goes …
    bool keeps_plain = false;  ///< … because it is a stage that views show
    TensorKey result;
    model::Site site;                 ///< of the linear layer's result
    TensorKey sum = {};               ///< where the sum goes that a norm follows …
    attention::Stage sum_stage = {};  ///< … of these stages, where they are wanted
    StreamStages* stages = nullptr;
    std::uint32_t width = 0;  ///< of the result, where there is no linear layer
    std::function<void(const Hidden& result)> compute = {};
  };

  attention::BlockRun begin_block(const LayerPosition& place, const model::AttentionLayer& layer, const Hidden& x);
  void project(const LayerPosition& place, const attention::BlockRun& block, const DeviceLayer& device,
               const Hidden& memory);
  void rotate(const attention::BlockRun& block, const LayerPosition& place, ops::Rows key_rows, bool is_self);
  /// Computes the terms that distances add to the block's scores, from its queries and keys, into the words of its
  /// mask.
  void relate(const LayerPosition& place, const attention::BlockRun& block, const DeviceLayer& device);
  /// A tensor that lives until the pass is computed.
  Hidden kept(std::uint32_t heads, std::uint32_t tokens, std::uint32_t width, std::string_view purpose);
  /// Did the base compute the same numbers for this block?
  const attention::BlockRun* same_block(const LayerPosition& place, const attention::BlockShape& shape) const;
  /// Applies the pass's interventions at a site of the block to these rows; slot_of(head) is where a head's numbers are.
  template <typename SlotOf>
  void intervene(model::BlockRef block, model::Site site, const SiteHeads& of, ops::Rows rows, const SlotOf& slot_of);
  /// Applies the pass's interventions at a site whose tensor has one head.
  void intervene(const LayerPosition& place, model::Site site, const Hidden& values);
  bool is_changed(model::BlockRef block, model::Site site) const;
  void attend(const LayerPosition& place, attention::BlockRun& block);
  Hidden finish(const LayerPosition& place, attention::BlockRun& block, const DeviceLayer& device, const Hidden& x,
                const TensorKey& result, StreamStages* stages = nullptr);
  /// The new state, and in `stages` those that it has keys for.
  Hidden feed_forward(const LayerPosition& place, const DeviceLayer& device, const Hidden& input, const Hidden& residual,
                      StreamStages* stages = nullptr);
  /// The inner layer of a dense feed-forward, or of a shared expert.
  Hidden inner_layer(const LayerPosition& place, const DeviceFeedForward& weights, const Hidden& read,
                     StreamStages* stages = nullptr);
  /// The router's choice for all rows, and what its experts make of them. Without a `result` the choice alone.
  void apply_experts(const LayerPosition& place, const DeviceExperts& experts, const Hidden& read, const Hidden& result,
                     StreamStages* stages);
  /// The end of a branch: linear layer, norm, residual, norm. Returns the new state and the linear layer's own result.
  std::pair<Hidden, Hidden> end_branch(const LayerPosition& place, const Branch& branch);
  /// Tables of a rotary model for the tokens of one side.
  ops::RotaryAngles angles(std::uint32_t rotary, const model::TokenBatch& tokens);

  gpu::Stream& stream_;
  ops::Kernels& kernels_;
  const PassInputs& pass_;
  const PassTensors& tensors_;
  Forward& forward_;
  std::map<std::pair<std::uint32_t, const model::TokenBatch*>, ops::RotaryAngles> angles_;
};

}  // namespace headlight::inference
