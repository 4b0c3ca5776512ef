#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "model/gguf.h"
#include "model/stored_tensor.h"

namespace headlight::model {

/// The opened files of a checkpoint.
struct CheckpointFiles {
  std::vector<std::filesystem::path> paths;  ///< sorted, an adapter last
  TensorTable tensors;
  std::optional<GgufFile> gguf = {};  ///< when it is one
  std::filesystem::path base = {};    ///< of a LoRA adapter: the folder of the model that it changes
};

/// A folder as Hugging Face writes it: model.safetensors or pytorch_model.bin, or one of the two with .index.json and the
/// shards it names, or a single .gguf file, whole or in parts; or a LoRA adapter, which is merged into its model. Links are
/// followed, as the Hugging Face cache has them. Throws Error saying what is missing.
CheckpointFiles open_checkpoint_folder(const std::filesystem::path& folder);

/// One .safetensors file, one of PyTorch or one of GGUF with its other parts.
CheckpointFiles open_checkpoint_file(const std::filesystem::path& path);

/// The tensors of one such file under the names that it has for them.
TensorTable read_tensors(const std::filesystem::path& path);

}  // namespace headlight::model
