#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "attention/mask.h"
#include "inference/playground.h"

namespace headlight::test {

/// One case of tests/golden/playground.json: the playground's input and PyTorch's results.
struct PlaygroundCase {
  std::string name;
  inference::PlaygroundSettings settings;
  std::string text;
  std::string key_text;
  attention::MaskSet masks;  ///< the same for every kind of block
  nlohmann::json stages;     ///< one object a layer: stage name → nested lists
  nlohmann::json result;     ///< [batch, token, d] after the last layer
};

std::vector<PlaygroundCase> playground_cases();

}  // namespace headlight::test
