#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace headlight::app {

/// A model on this machine, as the browser lists it.
struct ListedModel {
  enum class Origin : std::uint8_t { Bundled, Recent, Folder, HubCache };
  Origin origin = Origin::Recent;
  std::filesystem::path path;
  std::string name;                         ///< "openai-community/gpt2", or the folder's name
  std::string family;                       ///< "GPT-2"; empty when it can't be shown
  std::uint32_t layers = 0, heads = 0;      ///< of the encoder where there are two stacks
  std::uint32_t decoder_layers = 0;         ///< 0 without a second stack
  std::uint64_t parameters = 0, bytes = 0;  ///< bytes of its tensors as stored
  std::string problem;                      ///< one line why it can't be shown; empty when it can
};

/// Folders to search besides the bundled models and the local Hugging Face cache.
struct ModelSearch {
  std::vector<std::string> recent;  ///< missing ones are skipped
  std::string folder;               ///< a folder with models in it; empty: none

  bool operator==(const ModelSearch&) const = default;
};

/// Lists the models that can be opened, each once, with its first origin in the order of ListedModel::Origin. Opens each
/// model's headers: seconds when there are many. Ends early when `stops` is set.
using ModelFinder = std::function<std::vector<ListedModel>(const ModelSearch& wanted, const std::atomic<bool>& stops)>;
std::vector<ListedModel> list_models(const ModelSearch& wanted, const std::atomic<bool>& stops);

}  // namespace headlight::app
