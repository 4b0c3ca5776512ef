#include "inference/forward.h"

#include "inference/embed.h"
#include "inference/layer_recorder.h"
#include "ops/edit_head.h"
#include "ops/linear.h"

namespace headlight::inference {
namespace {

using model::BlockKind;

/// Token vectors of one side, through the embedding's norm and projection.
Hidden embedding(gpu::Stream& stream, ops::Kernels& kernels, LayerRecorder& recorder, BlockKind kind,
                 const model::Embedding* source, const DeviceEmbedding* device, const model::TokenBatch& tokens,
                 const StackPlan& plan) {
  const ops::Rows rows = plan.embedded;
  const bool has_more = device != nullptr && (device->norm || device->projection);
  const std::uint32_t width = source != nullptr ? source->table.axis(1) : tokens.vectors.axis(2);
  const Hidden vectors =
      recorder.tensor({kind, 0, has_more ? Role::Vectors : Role::State}, plan.capacity, width, rows, "the token vectors");
  if (rows.count > 0) vectors->upload_rows(stream, embed(source, tokens, rows), rows);
  if (!has_more) return vectors;
  const TensorKey state{kind, 0, Role::State};
  const bool has_positions = source->adds_positions_last && (!source->positions.is_empty() || !source->types.is_empty());
  const bool is_normed_last = !device->projection && !has_positions;
  const Hidden normed = !device->norm ? vectors
                                      : recorder.normed(is_normed_last ? state : TensorKey{kind, 0, Role::NormedVectors},
                                                        vectors, *device->norm, rows);
  if (is_normed_last) return normed;
  const std::uint32_t out = device->projection ? device->projection->width : width;
  const Hidden result = recorder.tensor(state, plan.capacity, out, rows, "the token vectors");
  if (rows.count == 0) return result;
  Hidden added;
  if (has_positions) {
    added = recorder.tensor({kind, 0, Role::Positions}, plan.capacity, out, rows, "the position embeddings");
    added->upload_rows(stream, embed_positions(*source, tokens, rows), rows);
  }
  if (!device->projection) {
    ops::add_rows(stream, kernels, *normed, *added, *result, rows);
  } else {
    ops::linear(stream, kernels, *normed, *device->projection, *result,
                {.combine = added ? ops::Combine::Add : ops::Combine::None, .other = added.get(), .rows = rows});
  }
  return result;
}

/// The state after the layers that a pass of copies doesn't compute: one item of the base's, in every copy.
Hidden copied_state(gpu::Stream& stream, ops::Kernels& kernels, LayerRecorder& recorder, const PassTensors& tensors,
                    BlockKind kind, const StackPlan& plan) {
  const ops::DeviceTensor& of_base = *(kind == BlockKind::EncoderSelf ? tensors.copied_source : tensors.copied_target);
  const ops::Rows rows{0, plan.capacity};
  const Hidden state = recorder.tensor({kind, plan.copied_layers, Role::State}, plan.capacity, of_base.width, rows,
                                       "copies of a hidden state");
  ops::copy_item(stream, kernels, of_base, tensors.copied_item, *state, rows);
  return state;
}

}  // namespace

Forward record_forward(gpu::Stream& stream, ops::Kernels& kernels, const DeviceNetwork& device, const PassInputs& pass,
                       const PassPlan& plan, const PassTensors& tensors, const std::function<void()>& end_layer) {
  const model::Network& network = *pass.network;
  const model::Layers& layers = *network.layers;
  const model::ModelInput& input = pass.input;
  Forward forward;
  LayerRecorder recorder(stream, kernels, pass, tensors, forward);
  const auto key = [](BlockKind kind, std::size_t layer, Role role) {
    return TensorKey{kind, static_cast<std::uint32_t>(layer), role};
  };
  const auto ref = [](BlockKind kind, std::size_t layer) {
    return model::BlockRef{kind, LayerIndex{static_cast<std::uint32_t>(layer)}};
  };

  const StackPlan& encoder = plan.encoder;
  const auto begin = [&](BlockKind kind, const model::Embedding* source, const DeviceEmbedding* device_embedding,
                         const model::TokenBatch& tokens, const StackPlan& stack) -> Hidden {
    if (input.qkv) return nullptr;
    if (tensors.copied_source) return copied_state(stream, kernels, recorder, tensors, kind, stack);
    return embedding(stream, kernels, recorder, kind, source, device_embedding, tokens, stack);
  };
  Hidden x = begin(BlockKind::EncoderSelf, network.source_embedding.get(), device.source_embedding, input.source, encoder);
  forward.run.encoder_states.resize(encoder.copied_layers);  // which the run doesn't have
  if (!layers.encoder.empty() && x) forward.run.encoder_states.push_back(x);
  for (std::size_t i = encoder.copied_layers; i < layers.encoder.size(); ++i) {
    const LayerPosition place{.ref = ref(BlockKind::EncoderSelf, i),
                              .rows = encoder.layers[i],
                              .capacity = encoder.capacity,
                              .key_capacity = encoder.capacity,
                              .key_rows = encoder.layers[i],
                              .result = key(BlockKind::EncoderSelf, i + 1, Role::State)};
    x = recorder.edited_input(place, x);
    if (x) forward.run.encoder_states.back() = x;
    x = recorder.layer(place, layers.encoder[i], *device.layers->encoder[i], x, x);
    if (x) forward.run.encoder_states.push_back(x);
    if (end_layer) end_layer();
  }
  if (layers.decoder.empty()) return forward;

  const bool is_memory_kept = !tensors.copied_source && encoder.computes_nothing();
  const ops::Rows memory_rows = is_memory_kept ? ops::Rows{} : ops::Rows{0, input.source.length};
  const Hidden memory = device.layers->encoder_norm ? recorder.normed(key(BlockKind::EncoderSelf, 0, Role::Memory), x,
                                                                      *device.layers->encoder_norm, memory_rows)
                                                    : x;
  const StackPlan& decoder = plan.decoder;
  x = begin(BlockKind::DecoderSelf, network.target_embedding.get(), device.target_embedding, *input.target, decoder);
  forward.run.decoder_states.resize(decoder.copied_layers);
  if (x) forward.run.decoder_states.push_back(x);
  for (std::size_t i = decoder.copied_layers; i < layers.decoder.size(); ++i) {
    const model::DecoderLayer& layer = layers.decoder[i];
    if (layer.self) {
      const LayerPosition place{.ref = ref(BlockKind::DecoderSelf, i),
                                .rows = decoder.layers[i],
                                .capacity = decoder.capacity,
                                .key_capacity = decoder.capacity,
                                .key_rows = decoder.layers[i],
                                .result = key(BlockKind::DecoderSelf, i, Role::Middle)};
      x = recorder.edited_input(place, x);
      if (x) forward.run.decoder_states.back() = x;
      x = recorder.layer(place, *layer.self, *device.layers->decoder[i].self, x, x);
    }
    const LayerPosition place{.ref = ref(BlockKind::Cross, i),
                              .rows = decoder.layers[i],
                              .capacity = decoder.capacity,
                              .key_capacity = encoder.capacity,
                              .key_rows = plan.memory[i],
                              .result = key(BlockKind::DecoderSelf, i + 1, Role::State)};
    x = recorder.edited_input(place, x);
    if (x && !layer.self) forward.run.decoder_states.back() = x;
    x = recorder.layer(place, layer.cross, *device.layers->decoder[i].cross, x, memory);
    if (x) forward.run.decoder_states.push_back(x);
    if (end_layer) end_layer();
  }
  return forward;
}

}  // namespace headlight::inference
