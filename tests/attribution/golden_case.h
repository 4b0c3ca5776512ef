#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "inference/reference_run.h"
#include "model/load_network.h"

namespace headlight::test {

/// A golden model, its case as the reference computes it, and what tools/make_attribution_golden.py made of it.
struct AttributionCase {
  explicit AttributionCase(const std::string& name);

  model::LoadedNetwork loaded;
  model::reference::Run run;
  nlohmann::json golden;
  std::uint32_t tokens = 0, last = 0;  ///< of the one line; its last token

  std::uint32_t layers() const { return static_cast<std::uint32_t>(loaded.network.layers->encoder.size()); }
  const model::AttentionLayer& layer(std::uint32_t number) const { return loaded.network.layers->encoder.at(number); }
  /// Row of the residual stream after so many layers.
  std::vector<float> state(std::uint32_t after, std::uint32_t token) const;
  /// Returns the vector that a layer's attention adds to the token's state.
  std::vector<float> written(std::uint32_t layer, std::uint32_t token) const;
  std::vector<float> merged(std::uint32_t layer, std::uint32_t token) const;
  /// [tokens]
  std::vector<float> weights(std::uint32_t layer, std::uint32_t head, std::uint32_t query) const;
  /// [tokens, d_v] of a query head.
  std::vector<float> values(std::uint32_t layer, std::uint32_t head) const;
};

}  // namespace headlight::test
