#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::model {

/// A model on this computer.
struct FoundModel {
  std::string name;            ///< "openai-community/gpt2" in the cache, else the folder's or the GGUF file's name
  std::filesystem::path path;  ///< what a Checkpoint opens: a folder with config.json, or a .gguf file
  std::uint64_t bytes = 0;     ///< of the files with weights

  bool operator==(const FoundModel&) const = default;
};

/// The download folder of Hugging Face's tools: HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub,
/// XDG_CACHE_HOME/huggingface/hub or
/// ~/.cache/huggingface/hub, the first that is set. The folder may not exist.
std::filesystem::path hub_cache_folder();

/// "openai-community/gpt2" for …/models--openai-community--gpt2/snapshots/607a30d…, else the last part of the path.
std::string model_name(const std::filesystem::path& path);

/// The folder of a model in the cache at a revision: a branch, a tag, or a commit, of which the beginning is enough. Throws
/// Error naming the revisions that are there.
std::filesystem::path find_revision(const std::filesystem::path& cache, std::string_view name, std::string_view revision);

/// The names that the cache has for snapshots of a repository's folder: of each commit one branch or tag, one with a number
/// in it where there are several ("step1000" and not "main"). At most 4,096 names are read; unreadable ones are skipped.
std::map<std::string, std::string> revision_names(const std::filesystem::path& repository);

/// The models in a folder, sorted by name: of a Hugging Face cache each model's revision "main" (else
/// the newest); of any other folder itself and the folders and .gguf files in it. A model is a folder with config.json (or
/// an adapter's) and .safetensors or pytorch_model*.bin files, or a .gguf file. Unreadable entries and broken links are
/// skipped.
std::vector<FoundModel> find_models(const std::filesystem::path& folder);

}  // namespace headlight::model
