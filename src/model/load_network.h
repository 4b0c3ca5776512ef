#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "model/checkpoint.h"
#include "model/model_description.h"
#include "model/network.h"

namespace headlight::model {

/// A network whose weights lie in the files it came from, and what is known about it.
struct LoadedNetwork {
  Network network;
  ModelDescription description;
};

/// From config.json and tensors to a network; reads no weights but a few small ones. Throws Error in one line: a model_type
/// that Headlight doesn't know, a value of config.json out of its range, a tensor that is missing, has another shape than
/// config.json implies, or is no part of such a network.
LoadedNetwork load_network(const Checkpoint& checkpoint);
/// A folder or file.
LoadedNetwork load_network(const std::filesystem::path& path);
/// With another text in the place of config.json.
LoadedNetwork load_network(const Checkpoint& checkpoint, std::string_view config);

/// Names of the families that load_network knows: "BERT, RoBERTa, …".
std::string supported_families();

}  // namespace headlight::model
