#pragma once

#include <filesystem>

#include "model/stored_tensor.h"

namespace headlight::model {

/// Is the file one of torch.save by its name: .bin, .pt, .pth or .ckpt?
bool is_torch_file(const std::filesystem::path& path);

/// The tensors of a file that torch.save wrote, in its zip archive or in the format before PyTorch 1.6: those of the
/// dictionary at its root, or of the only dictionary in it that holds tensors, as training scripts save them ("state_dict",
/// "model"). Weights stay in the mapped file; only those that it stores compressed or not in a row are copied. Tensors may
/// share bytes. Throws Error in one line naming the file, and the tensor if one is at fault.
TensorTable read_torch_file(const std::filesystem::path& path);

}  // namespace headlight::model
