#include "inference/memory_estimate.h"

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

}  // namespace

MemoryEstimate estimate_memory(const model::Network& network, Precision precision, std::uint32_t tokens) {
  std::uint64_t numbers = 0;
  for (const model::BlockRef block : network.blocks()) {
    const model::AttentionLayer& layer = network.layer(block);
    numbers += block_numbers(layer) + layer.config.d_model;  // and the state that the layer returns
  }
  return {.weights = device_bytes(*network.layers, precision == Precision::F16), .run = numbers * tokens * sizeof(float)};
}

}  // namespace headlight::inference
