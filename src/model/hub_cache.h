#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headlight::model {

/// A model that lies on this computer.
struct FoundModel {
  std::string name;            ///< "openai-community/gpt2" in the cache, else the folder's or the GGUF file's name
  std::filesystem::path path;  ///< what a Checkpoint opens: a folder with config.json, or a .gguf file
  std::uint64_t bytes = 0;     ///< of the files with weights

  bool operator==(const FoundModel&) const = default;
};

/// Where Hugging Face's tools keep what they download: HF_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub or
/// ~/.cache/huggingface/hub, the first that is set. The folder need not be there.
std::filesystem::path hub_cache_folder();

/// The models in a folder, sorted by name: of a Hugging Face cache the revision "main" of each (of those without one, the
/// newest); of any other folder itself and the folders and .gguf files in it. A model is a folder with config.json and
/// .safetensors files, or a .gguf file. What can't be read or leads nowhere is left out.
std::vector<FoundModel> find_models(const std::filesystem::path& folder);

}  // namespace headlight::model
