#include "inference/forward.h"

#include <utility>

#include "inference/embed.h"
#include "ops/linear.h"

namespace headlight::inference {
namespace {

using Hidden = std::shared_ptr<const ops::DeviceTensor>;  // [batch, 1, token, width]

class Recorder {
 public:
  Recorder(gpu::Stream& stream, ops::Kernels& kernels, const model::ModelInput& input, const attention::MaskSet& masks)
      : stream_(stream), kernels_(kernels), input_(input), masks_(masks) {}

  Forward forward;

  Hidden embedding(const model::Embedding* table, const model::TokenBatch& tokens) {
    const Tensor x = embed(table, tokens);
    auto hidden =
        std::make_shared<const ops::DeviceTensor>(stream_, x.axis(0), 1, x.axis(1), x.axis(2), "the token vectors");
    hidden->upload(stream_, x);
    forward.intermediates.push_back(hidden);
    return hidden;
  }

  /// One attention block and what follows it; returns the next hidden state. x and memory are null with given Q, K, V.
  Hidden layer(model::BlockRef ref, const model::AttentionLayer& layer, const DeviceLayer& device, const Hidden& x,
               const Hidden& memory) {
    attention::BlockRun block = begin_block(ref, layer, x);
    project(block, device, x, memory);
    attend(block);
    Hidden y = finish(block, device);
    if (device.norm) y = normalised(x, y, *device.norm);
    if (device.feed_forward_in) y = feed_forward(device, y);
    forward.run.blocks.push_back(std::move(block));
    return y;
  }

  Hidden linear(const ops::DeviceTensor& x, const ops::PackedLinear& weight, std::uint32_t out,
                ops::Activation activation = ops::Activation::None) {
    auto y = std::make_shared<const ops::DeviceTensor>(stream_, x.items, 1, x.tokens, out, "a linear layer's output");
    ops::linear(stream_, kernels_, x, weight, *y, activation);
    forward.intermediates.push_back(y);
    return y;
  }

 private:
  attention::BlockRun begin_block(model::BlockRef ref, const model::AttentionLayer& layer, const Hidden& x) {
    const model::TokenBatch& queries = input_.queries(ref.kind);
    const model::TokenBatch& keys = input_.keys(ref.kind);
    const model::AttentionConfig& config = layer.config;
    attention::BlockRun block;
    block.ref = ref;
    block.config = config;
    block.x = x;
    block.shape = {.batch = queries.batch,
                   .heads = config.heads,
                   .queries = queries.length,
                   .keys = keys.length,
                   .d_model = config.d_model,
                   .d_k = config.d_k,
                   .d_v = config.d_v,
                   .d_merged = config.heads * config.d_v,
                   .d_output = layer.weights && layer.weights->output ? layer.weights->output->out() : 0,
                   .has_input = x != nullptr};
    block.mask = attention::upload_mask(
        stream_, masks_[ref.kind], {ref.layer.value, block.shape.batch, config.heads, block.shape.queries, block.shape.keys},
        keys.lengths);
    block.q = ops::DeviceTensor(stream_, queries.batch, config.heads, queries.length, config.d_k, "the queries");
    block.k = ops::DeviceTensor(stream_, keys.batch, config.heads, keys.length, config.d_k, "the keys");
    block.v = ops::DeviceTensor(stream_, keys.batch, config.heads, keys.length, config.d_v, "the values");
    return block;
  }

  void project(const attention::BlockRun& block, const DeviceLayer& device, const Hidden& x, const Hidden& memory) {
    if (!device.projections) {
      block.q.upload(stream_, input_.qkv->query);
      block.k.upload(stream_, input_.qkv->key);
      block.v.upload(stream_, input_.qkv->value);
    } else if (x == memory) {
      ops::project_heads(stream_, kernels_, *x, *device.projections, &block.q, &block.k, &block.v);
    } else {
      ops::project_heads(stream_, kernels_, *x, *device.projections, &block.q, nullptr, nullptr);
      ops::project_heads(stream_, kernels_, *memory, *device.projections, nullptr, &block.k, &block.v);
    }
  }

  void attend(attention::BlockRun& block) {
    const attention::BlockShape& shape = block.shape;
    const std::uint32_t d_v4 = block.v.width4();
    block.layout = block.config.merge == model::MergeOrder::Concatenate ? ops::concatenated(shape.heads, d_v4)
                                                                        : ops::without_transpose(shape.queries, d_v4);
    block.merged = ops::DeviceTensor(stream_, shape.batch, 1, shape.queries, shape.heads * d_v4 * 4, "the merged heads");
    block.stats = ops::make_stats(stream_, shape.batch, shape.heads, shape.queries);
    ops::attention(stream_, kernels_, block.q, block.k, block.v, block.config.scale.factor(block.config.d_k),
                   attention::mask_data(block.mask), block.layout, block.merged, block.stats, scratch(shape));
  }

  /// One scratch serves every block of the same sizes; the stream's barriers keep them apart.
  const ops::AttentionScratch* scratch(const attention::BlockShape& shape) {
    if (!ops::needs_scratch(kernels_.tuning().attention)) return nullptr;
    auto& scratch = forward.scratches[{shape.heads, shape.queries, shape.keys}];
    if (!scratch) {
      scratch =
          std::make_unique<ops::AttentionScratch>(stream_.context(), shape.heads, shape.queries, shape.keys, shape.batch);
    }
    return scratch.get();
  }

  /// The output projection where there is one; what the residual adds; null when nothing follows the merged heads.
  Hidden finish(attention::BlockRun& block, const DeviceLayer& device) {
    if (device.output) return block.output = linear(block.merged, *device.output, block.shape.d_output);
    if (device.unpad) return linear(block.merged, *device.unpad, block.shape.d_merged);
    return nullptr;
  }

  Hidden normalised(const Hidden& x, const Hidden& y, const ops::DeviceLayerNorm& norm) {
    auto result = std::make_shared<const ops::DeviceTensor>(stream_, x->items, 1, x->tokens, x->width, "a hidden state");
    ops::add_layer_norm(stream_, kernels_, *x, *y, norm, *result);
    forward.intermediates.push_back(result);
    return result;
  }

  Hidden feed_forward(const DeviceLayer& device, const Hidden& x) {
    const Hidden inner = linear(*x, *device.feed_forward_in, device.feed_forward_width, ops::Activation::Relu);
    return normalised(x, linear(*inner, *device.feed_forward_out, x->width), *device.feed_forward_norm);
  }

  gpu::Stream& stream_;
  ops::Kernels& kernels_;
  const model::ModelInput& input_;
  const attention::MaskSet& masks_;
};

}  // namespace

Forward record_forward(gpu::Stream& stream, ops::Kernels& kernels, const model::Network& network, const DeviceLayers& layers,
                       const model::ModelInput& input, const attention::MaskSet& masks) {
  using model::BlockKind;
  Recorder recorder(stream, kernels, input, masks);
  const model::Layers& source = *network.layers;
  const auto layer_index = [](std::size_t index) { return LayerIndex{static_cast<std::uint32_t>(index)}; };

  Hidden x = input.qkv ? nullptr : recorder.embedding(network.source_embedding.get(), input.source);
  for (std::size_t i = 0; i < source.encoder.size(); ++i) {
    x = recorder.layer({BlockKind::EncoderSelf, layer_index(i)}, source.encoder[i], layers.encoder[i], x, x);
  }
  if (!source.encoder.empty()) recorder.forward.run.encoder_output = x;

  if (!source.decoder.empty()) {
    const Hidden memory = x;
    x = input.qkv ? nullptr : recorder.embedding(network.target_embedding.get(), *input.target);
    for (std::size_t i = 0; i < source.decoder.size(); ++i) {
      const model::DecoderLayer& layer = source.decoder[i];
      if (layer.self)
        x = recorder.layer({BlockKind::DecoderSelf, layer_index(i)}, *layer.self, *layers.decoder[i].self, x, x);
      x = recorder.layer({BlockKind::Cross, layer_index(i)}, layer.cross, layers.decoder[i].cross, x, memory);
    }
  }
  if (source.unembedding) recorder.forward.run.logits = recorder.linear(*x, *layers.unembedding, source.unembedding->out());
  return std::move(recorder.forward);
}

}  // namespace headlight::inference
