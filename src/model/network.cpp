#include "model/network.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.h"

namespace headlight::model {
namespace {

/// Adds numbers up, each weight once: layers may share them (ALBERT), and so may embedding and unembedding.
class Counter {
 public:
  std::size_t total = 0;

  void add(const Parameter& parameter) {
    if (parameter.is_empty() || !seen_.insert({parameter.address(), parameter.first_row()}).second) return;
    total += parameter.element_count();
  }
  void add(const Linear& linear) {
    add(linear.weight);
    add(linear.bias);
  }
  void add(const Norm& norm) {
    if (!norm.is_plain) add(norm.weight);
    add(norm.bias);
  }
  void add(const BranchNorms& norms) {
    add(norms.before);
    add(norms.inside);
    add(norms.after);
  }
  void add(const FeedForward& feed_forward) {
    add(feed_forward.in);
    add(feed_forward.gate);
    add(feed_forward.out);
  }
  void add(const Experts& experts) {
    add(experts.router);
    for (const FeedForward& expert : experts.experts) add(expert);
    add(experts.shared);
    add(experts.shared_gate);
  }
  void add(const Embedding& embedding) {
    add(embedding.table);
    if (!embedding.computes_positions) add(embedding.positions);
    add(embedding.types);
    add(embedding.norm);
    add(embedding.projection);
  }
  void add(const AttentionWeights& weights) {
    add(weights.query);
    add(weights.key);
    add(weights.value);
    add(weights.output);
    add(weights.query_norm);
    add(weights.key_norm);
    add(weights.position_query);
    add(weights.position_key);
  }
  void add(const AttentionLayer& layer) {
    add(layer.weights);
    add(layer.norms);
    add(layer.feed_forward);
    add(layer.experts);
    add(layer.feed_forward_norms);
  }
  void add(const Unembedding& unembedding) {
    add(unembedding.transform);
    add(unembedding.norm);
    add(unembedding.linear);
  }
  template <typename Part>
  void add(const std::optional<Part>& part) {
    if (part) add(*part);
  }

 private:
  std::set<std::pair<const std::byte*, std::uint32_t>> seen_;
};

}  // namespace

std::vector<double> Embedding::line_factors(const TokenBatch& tokens) const {
  constexpr double kKeptInTraining = 1.0 - 0.15 * 0.8;
  std::vector<double> factors(tokens.batch, static_cast<double>(scale));
  for (std::uint32_t item = 0; item < tokens.batch && dropped_id; ++item) {
    const auto line = tokens.ids.begin() + static_cast<std::ptrdiff_t>(std::size_t{item} * tokens.length);
    const auto dropped = static_cast<double>(std::count(line, line + tokens.length, *dropped_id));
    factors[item] *= kKeptInTraining / (1.0 - dropped / tokens.lengths[item]);
  }
  return factors;
}

std::vector<BlockRef> Network::blocks() const {
  std::vector<BlockRef> blocks;
  if (!layers) return blocks;
  const bool has_decoder = !layers->decoder.empty();
  for (std::uint32_t i = 0; i < layers->encoder.size(); ++i) {
    blocks.push_back({BlockKind::EncoderSelf, LayerIndex{has_decoder ? i : layer_number(i)}});
  }
  for (std::uint32_t i = 0; i < layers->decoder.size(); ++i) {
    if (layers->decoder[i].self) blocks.push_back({BlockKind::DecoderSelf, LayerIndex{layer_number(i)}});
    blocks.push_back({BlockKind::Cross, LayerIndex{layer_number(i)}});
  }
  return blocks;
}

const AttentionLayer& Network::layer(BlockRef block) const {
  std::size_t index = block.layer.value;
  const bool is_encoder = block.kind == BlockKind::EncoderSelf;
  if (layers && !layer_numbers.empty() && (!is_encoder || layers->decoder.empty())) {
    index = static_cast<std::size_t>(std::ranges::find(layer_numbers, block.layer.value) - layer_numbers.begin());
  }
  if (layers && is_encoder && index < layers->encoder.size()) return layers->encoder[index];
  if (layers && !is_encoder && index < layers->decoder.size()) {
    const DecoderLayer& layer = layers->decoder[index];
    if (block.kind == BlockKind::Cross) return layer.cross;
    if (layer.self) return *layer.self;
  }
  throw Error("the network has no {} attention in layer {}: choose one of its own blocks", to_string(block.kind),
              block.layer.value);
}

std::size_t Network::parameter_count() const {
  Counter counter;
  if (source_embedding) counter.add(*source_embedding);
  if (target_embedding) counter.add(*target_embedding);
  for (const BlockRef block : blocks()) counter.add(layer(block));
  if (!layers) return counter.total;
  for (const PositionBias& bias : layers->position_biases) {
    if (bias.kind == PositionBias::Kind::Buckets) counter.total += bias.table.values.size();
  }
  for (const DistanceVectors& distances : layers->distances) counter.total += distances.table.values.size();
  counter.add(layers->encoder_norm);
  counter.add(layers->decoder_norm);
  counter.add(layers->unembedding);
  return counter.total;
}

std::size_t Network::idle_parameter_count() const {
  std::size_t idle = 0;
  for (const BlockRef block : blocks()) {
    const std::optional<Experts>& experts = layer(block).experts;
    if (!experts) continue;
    Counter one;
    one.add(experts->experts.front());
    idle += one.total * (experts->count() - experts->per_token);
  }
  return idle;
}

const std::string* TokenBatch::label(std::uint32_t item, std::size_t token) const {
  const std::vector<std::string>* line = labels(item);
  return line != nullptr && token < line->size() ? &(*line)[token] : nullptr;
}

std::string TokenBatch::name(std::uint32_t item, std::size_t token) const {
  const std::string* text = label(item, token);
  return text != nullptr ? *text : std::to_string(token);
}

std::string TokenBatch::quoted(std::uint32_t item, std::size_t token) const {
  const std::string* text = label(item, token);
  return text != nullptr ? " \u201C" + *text + "\u201D" : "";
}

std::uint32_t TokenBatch::position(std::uint32_t item, std::uint32_t token) const {
  if (!positions.empty()) return positions[std::size_t{item} * length + token];
  return token - std::min(token, start(item));
}

std::uint32_t TokenBatch::position_count(std::uint32_t item) const {
  std::uint32_t count = 0;
  for (std::uint32_t token = start(item); token < end(item); ++token) count = std::max(count, position(item, token) + 1);
  return count;
}

std::uint32_t TokenBatch::position_count() const {
  if (!positions.empty()) return *std::max_element(positions.begin(), positions.end()) + 1;
  return length - (starts.empty() ? 0 : *std::min_element(starts.begin(), starts.end()));
}

const TokenBatch& ModelInput::queries(BlockKind kind) const {
  if (kind == BlockKind::EncoderSelf) return source;
  if (!target)
    throw Error("the {} attention needs target tokens, but the input has none: give it a second text", to_string(kind));
  return *target;
}

const TokenBatch& ModelInput::keys(BlockKind kind) const { return kind == BlockKind::DecoderSelf ? queries(kind) : source; }

}  // namespace headlight::model
