#include "inference/memory_estimate.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "inference/device_layers.h"

namespace headlight::inference {
namespace {

/// Numbers that one token leaves in a block.
std::uint64_t block_numbers(const model::AttentionLayer& layer) {
  const model::AttentionConfig& config = layer.config;
  const std::uint64_t queries = std::uint64_t{config.heads} * config.d_k;
  const std::uint64_t keys_and_values = std::uint64_t{config.keys_heads()} * (config.d_k + config.d_v);
  const std::uint64_t merged = std::uint64_t{config.heads} * config.d_v;
  const std::uint64_t statistics = 2 * std::uint64_t{config.heads};  // m and l of each row
  const std::uint64_t output = layer.weights && layer.weights->output ? layer.weights->output->out() : 0;
  return config.d_model + queries + keys_and_values + statistics + merged + output;
}

/// Numbers that all layers of a kind compute in, one after the other: scores and weights of some queries, and the
/// feed-forward.
std::uint64_t shared_numbers(const model::AttentionLayer& layer, std::uint32_t tokens) {
  constexpr std::uint64_t kMostScores = 1u << 20;
  const std::uint64_t scores = std::min(kMostScores, std::uint64_t{layer.config.heads} * tokens * tokens);
  const std::uint64_t inner = layer.feed_forward ? layer.feed_forward->in.out() : 0;
  return 2 * scores + tokens * (3 * std::uint64_t{layer.config.d_model} + 2 * inner);
}

}  // namespace

MemoryEstimate estimate_memory(const model::Network& network, Precision precision, std::uint32_t tokens) {
  std::uint64_t numbers = 0;
  std::array<std::uint64_t, model::kBlockKinds> shared = {};
  for (const model::BlockRef block : network.blocks()) {
    const model::AttentionLayer& layer = network.layer(block);
    numbers += tokens * (block_numbers(layer) + layer.config.d_model);  // and the state that the layer returns
    std::uint64_t& of_kind = shared[static_cast<std::size_t>(block.kind)];
    of_kind = std::max(of_kind, shared_numbers(layer, tokens));
  }
  numbers += std::accumulate(shared.begin(), shared.end(), std::uint64_t{0});
  return {.weights = device_bytes(*network.layers, precision == Precision::F16), .run = numbers * sizeof(float)};
}

}  // namespace headlight::inference
