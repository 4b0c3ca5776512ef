#include "inference/device_layers.h"

#include <array>

namespace headlight::inference {
namespace {

ops::LinearSource source_of(const model::Linear& linear, std::uint32_t out_heads = 1, std::uint32_t in_heads = 1) {
  return {.weight = linear.weight.values,
          .bias = linear.bias.values,
          .out = linear.out(),
          .in = linear.in(),
          .out_heads = out_heads,
          .in_heads = in_heads};
}

ops::PackedLinear pack_one(gpu::Context& context, const ops::LinearSource& source, std::string_view purpose) {
  return ops::pack(context, {&source, 1}, purpose);
}

ops::DeviceLayerNorm upload(gpu::Context& context, const model::LayerNorm& norm) {
  return ops::upload_layer_norm(context, norm.weight.values, norm.bias.values, norm.epsilon);
}

ops::PackedLinear pack_identity(gpu::Context& context, std::uint32_t width, std::uint32_t in_heads) {
  std::vector<float> identity(std::size_t{width} * width, 0.0f);
  for (std::size_t i = 0; i < width; ++i) identity[i * width + i] = 1.0f;
  return pack_one(context, {.weight = identity, .bias = {}, .out = width, .in = width, .out_heads = 1, .in_heads = in_heads},
                  "the merge of heads");
}

/// `is_last`: nothing reads what the layer returns.
DeviceLayer upload(gpu::Context& context, const model::AttentionLayer& layer, bool is_last) {
  DeviceLayer device;
  const std::uint32_t heads = layer.config.heads;
  if (layer.weights) {
    const std::array projections{source_of(layer.weights->query, heads), source_of(layer.weights->key, heads),
                                 source_of(layer.weights->value, heads)};
    device.projections = ops::pack(context, projections, "the weights of Q, K and V");
  }
  if (layer.weights && layer.weights->output) {
    device.output = pack_one(context, source_of(*layer.weights->output, 1, heads), "the output projection");
  } else if (layer.norm || layer.feed_forward || !is_last) {
    device.unpad = pack_identity(context, heads * layer.config.d_v, heads);
  }
  if (layer.norm) device.norm = upload(context, *layer.norm);
  if (layer.feed_forward) {
    device.feed_forward_in = pack_one(context, source_of(layer.feed_forward->in), "a feed-forward layer");
    device.feed_forward_width = layer.feed_forward->in.out();
    device.feed_forward_out = pack_one(context, source_of(layer.feed_forward->out), "a feed-forward layer");
  }
  if (layer.feed_forward_norm) device.feed_forward_norm = upload(context, *layer.feed_forward_norm);
  return device;
}

}  // namespace

DeviceLayers upload_layers(gpu::Context& context, std::shared_ptr<const model::Layers> layers) {
  DeviceLayers device;
  const bool has_reader = layers->unembedding.has_value();
  for (const model::AttentionLayer& layer : layers->encoder) {
    const bool is_last = &layer == &layers->encoder.back() && layers->decoder.empty() && !has_reader;
    device.encoder.push_back(upload(context, layer, is_last));
  }
  for (const model::DecoderLayer& layer : layers->decoder) {
    DeviceDecoderLayer decoder;
    if (layer.self) decoder.self = upload(context, *layer.self, false);
    decoder.cross = upload(context, layer.cross, &layer == &layers->decoder.back() && !has_reader);
    device.decoder.push_back(std::move(decoder));
  }
  if (layers->unembedding) device.unembedding = pack_one(context, source_of(*layers->unembedding), "the unembedding");
  device.source = std::move(layers);
  return device;
}

}  // namespace headlight::inference
