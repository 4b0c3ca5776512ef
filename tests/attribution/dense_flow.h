#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attribution/rollout.h"

namespace headlight::test {

/// The largest flow through capacities [layer][query, key] that are all known.
inline attribution::TokenFlow largest_flow(const std::vector<std::vector<double>>& layers, std::uint32_t from,
                                           std::uint32_t to, double least) {
  const auto count = static_cast<std::uint32_t>(layers.size());
  std::uint32_t tokens = 1;
  while (std::size_t{tokens} * tokens < layers.front().size()) ++tokens;
  attribution::LargestFlow flow(count, tokens, from, to);
  for (std::uint32_t layer = count; layer-- > 0; flow.end_layer()) {
    for (std::uint32_t query = 0; query < tokens; ++query) {
      if (flow.is_reached(query)) flow.add(query, std::span(layers[layer]).subspan(std::size_t{query} * tokens, tokens));
    }
  }
  while (!flow.step()) continue;
  return flow.result(least);
}

}  // namespace headlight::test
