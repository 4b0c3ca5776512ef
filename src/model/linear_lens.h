#pragma once

#include <filesystem>
#include <vector>

#include "model/weights.h"

namespace headlight::model {

/// A linear lens, as tuned lenses are (Belrose et al. 2023; `TunedLens.transform_hidden` of the package tuned-lens): before
/// the final norm and the unembedding read the state h after `layer` layers, it becomes h + W·h + b.
struct LinearLens {
  std::vector<Linear> translators;  ///< [layer] W [d_model, d_model] and b; of layer 0 the token vectors'. The last has none
};

/// Opens a file whose tensors are named as tuned-lens names them, "0.weight" and "0.bias", or with "layer_translators.",
/// "translators." or "lens." before the number: .safetensors, or what torch.save() wrote; of a folder its params.pt. Throws
/// Error in one line, naming file and tensor, for another number of layers, other shapes, tensors that belong to no such
/// lens, and numbers that aren't finite. Reads all numbers once, and keeps them in the file.
LinearLens open_linear_lens(const std::filesystem::path& path, std::uint32_t layers, std::uint32_t d_model);

}  // namespace headlight::model
