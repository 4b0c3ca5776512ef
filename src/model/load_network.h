#pragma once

#include <filesystem>
#include <string_view>

#include "model/checkpoint.h"
#include "model/model_description.h"
#include "model/network.h"

namespace headlight::model {

/// A network whose weights are views of its files, with its description.
struct LoadedNetwork {
  Network network;
  ModelDescription description;
};

/// Builds a network from config.json and tensors, of the family that its model_type names or that headlight-family.json
/// beside it describes; reads only a few small weights. Throws Error in one line for an unknown model_type, a value of
/// config.json out of its range, and a tensor that is missing, has another shape than config.json implies, or is no part of
/// such a network.
LoadedNetwork load_network(const Checkpoint& checkpoint);
/// A folder or file.
LoadedNetwork load_network(const std::filesystem::path& path);
/// With `config` instead of config.json.
LoadedNetwork load_network(const Checkpoint& checkpoint, std::string_view config);

}  // namespace headlight::model
