#include "inference/memory_estimate.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "attention/layer_graph.h"
#include "attention/mask_words.h"
#include "core/error.h"
#include "inference/device_layers.h"
#include "ops/attention_blocks.h"
#include "ops/experts.h"

namespace headlight::inference {
namespace {

/// Numbers that one token leaves in a block: those of the stages that are stored, and m and l of each row.
std::uint64_t block_numbers(const model::AttentionLayer& layer) {
  const BlockShape shape = attention::shape_of(layer, 1, 1, 1);
  std::uint64_t numbers = 2 * std::uint64_t{layer.config.heads};
  const attention::LayerGraph graph({}, layer);
  for (const attention::LayerNode& node : graph.nodes()) {
    if (is_stored(node.stage)) numbers += std::uint64_t{shape.matrices(node.stage)} * node.extent.columns;
  }
  return numbers;
}

/// Products of all queries and keys with the vectors of distances.
std::uint64_t distance_numbers(const model::AttentionConfig& config, const model::Layers& layers, std::uint32_t tokens) {
  if (!config.distances) return 0;
  const std::uint64_t terms = (config.has_content_position ? 1u : 0u) + (config.has_position_content ? 1u : 0u);
  return terms * config.heads * tokens * attention::distance_rows(layers.distances[*config.distances], tokens, tokens).count;
}

/// Bytes of scores and weights of some queries, where attention goes by blocks.
std::uint64_t scratch_bytes(const model::AttentionLayer& layer, std::uint32_t tokens,
                            const std::optional<RunDevice>& device) {
  if (device && !ops::needs_scratch(device->attention)) return 0;
  gpu::DeviceInfo vast;
  vast.max_storage_range = std::numeric_limits<std::size_t>::max();
  vast.max_texel_elements = std::numeric_limits<std::uint32_t>::max();
  return 2 * ops::scratch_size(device ? device->device : vast, layer.config.heads, tokens, tokens).buffer_bytes;
}

/// Returns the numbers of logits, gates and a shared expert for all tokens, and of experts for as many pairs as are
/// computed at a time.
std::uint64_t expert_numbers(const model::Experts& experts, std::uint32_t tokens) {
  const model::FeedForward& one = experts.experts.front();
  const std::uint64_t shared = experts.shared ? 2 * experts.shared->in.out() + one.out.out() + 4 : 0;
  const std::uint64_t pairs = ops::pairs_at_once(experts.per_token, one.in.out(), one.out.out());
  return tokens * (2 * std::uint64_t{experts.count()} + shared) +
         std::min(std::uint64_t{tokens} * experts.per_token, pairs) * (2 * std::uint64_t{one.in.out()} + one.out.out());
}

/// Numbers of the feed-forward, which all layers of a kind compute in the same memory, one after the other.
std::uint64_t shared_numbers(const model::AttentionLayer& layer, std::uint32_t tokens) {
  const std::uint64_t inner = layer.feed_forward ? layer.feed_forward->in.out() : 0;
  const std::uint64_t numbers = tokens * (3 * std::uint64_t{layer.config.d_model} + 2 * inner);
  return layer.experts ? numbers + expert_numbers(*layer.experts, tokens) : numbers;
}

}  // namespace

MemoryEstimate estimate_memory(const model::Network& network, Precision precision, std::uint32_t tokens,
                               const std::optional<RunDevice>& device) {
  std::uint64_t numbers = 0;
  std::array<std::uint64_t, model::kBlockKinds> shared_bytes = {};
  for (const model::BlockRef block : network.blocks()) {
    const model::AttentionLayer& layer = network.layer(block);
    numbers += tokens * (block_numbers(layer) + layer.config.d_model);  // and the state that the layer returns
    numbers += distance_numbers(layer.config, *network.layers, tokens);
    std::uint64_t& of_kind = shared_bytes[static_cast<std::size_t>(block.kind)];
    of_kind = std::max(of_kind, shared_numbers(layer, tokens) * sizeof(float) + scratch_bytes(layer, tokens, device));
  }
  return {.weights = device_bytes(*network.layers, precision == Precision::F16),
          .run = numbers * sizeof(float) + std::accumulate(shared_bytes.begin(), shared_bytes.end(), std::uint64_t{0})};
}

std::uint64_t least_run_bytes(const model::Network& network, const model::ModelInput& input) {
  std::uint64_t numbers = 0;
  for (const model::BlockRef block : network.blocks()) {
    const model::TokenBatch &queries = input.queries(block.kind), &keys = input.keys(block.kind);
    numbers += std::uint64_t{queries.batch} * std::min(queries.length, keys.length) * block_numbers(network.layer(block));
  }
  return numbers * sizeof(float);
}

void expect_room(const model::Network& network, const model::ModelInput& input, const gpu::DeviceInfo& device) {
  const std::uint64_t bytes = least_run_bytes(network, input);
  if (bytes <= device.memory_bytes) return;
  constexpr double kMiB = 1024.0 * 1024.0;
  const std::uint32_t lines = input.source.batch;
  const std::uint32_t tokens = std::max(input.source.length, input.target ? input.target->length : 0);
  throw Error(ErrorKind::OutOfDeviceMemory,
              "the device '{}' can't hold {}: {:.1f} MiB needed at least, {:.1f} MiB there are; give {}", device.name,
              lines == 1 ? fmt::format("{} tokens", tokens) : fmt::format("{} lines of {} tokens", lines, tokens),
              static_cast<double>(bytes) / kMiB, static_cast<double>(device.memory_bytes) / kMiB,
              lines == 1 ? "a shorter text" : "fewer or shorter lines");
}

}  // namespace headlight::inference
