#include "model/network.h"

#include "core/error.h"

namespace headlight::model {
namespace {

std::size_t count(const Linear& linear) { return linear.weight.values.size() + linear.bias.values.size(); }
std::size_t count(const LayerNorm& norm) { return norm.weight.values.size() + norm.bias.values.size(); }
std::size_t count(const FeedForward& feed_forward) { return count(feed_forward.in) + count(feed_forward.out); }
std::size_t count(const Embedding& embedding) { return embedding.table.values.size() + embedding.positions.values.size(); }

std::size_t count(const AttentionWeights& weights) {
  return count(weights.query) + count(weights.key) + count(weights.value) + (weights.output ? count(*weights.output) : 0);
}

std::size_t count(const AttentionLayer& layer) {
  std::size_t sum = 0;
  if (layer.weights) sum += count(*layer.weights);
  if (layer.norm) sum += count(*layer.norm);
  if (layer.feed_forward) sum += count(*layer.feed_forward);
  if (layer.feed_forward_norm) sum += count(*layer.feed_forward_norm);
  return sum;
}

}  // namespace

std::vector<BlockRef> Network::blocks() const {
  std::vector<BlockRef> blocks;
  if (!layers) return blocks;
  for (std::uint32_t i = 0; i < layers->encoder.size(); ++i) blocks.push_back({BlockKind::EncoderSelf, LayerIndex{i}});
  for (std::uint32_t i = 0; i < layers->decoder.size(); ++i) {
    if (layers->decoder[i].self) blocks.push_back({BlockKind::DecoderSelf, LayerIndex{i}});
    blocks.push_back({BlockKind::Cross, LayerIndex{i}});
  }
  return blocks;
}

const AttentionLayer& Network::layer(BlockRef block) const {
  const std::uint32_t index = block.layer.value;
  if (layers && block.kind == BlockKind::EncoderSelf && index < layers->encoder.size()) return layers->encoder[index];
  if (layers && block.kind != BlockKind::EncoderSelf && index < layers->decoder.size()) {
    const DecoderLayer& layer = layers->decoder[index];
    if (block.kind == BlockKind::Cross) return layer.cross;
    if (layer.self) return *layer.self;
  }
  throw Error("the network has no {} attention in layer {}: choose one of its own blocks", to_string(block.kind), index);
}

std::size_t Network::parameter_count() const {
  std::size_t sum = 0;
  if (source_embedding) sum += count(*source_embedding);
  if (target_embedding && target_embedding != source_embedding) sum += count(*target_embedding);
  for (const BlockRef block : blocks()) sum += count(layer(block));
  if (layers && layers->unembedding) sum += count(*layers->unembedding);
  return sum;
}

const TokenBatch& ModelInput::queries(BlockKind kind) const {
  if (kind == BlockKind::EncoderSelf) return source;
  if (!target)
    throw Error("the {} attention needs target tokens, but the input has none: give it a second text", to_string(kind));
  return *target;
}

const TokenBatch& ModelInput::keys(BlockKind kind) const { return kind == BlockKind::DecoderSelf ? queries(kind) : source; }

}  // namespace headlight::model
