#pragma once

#include <filesystem>
#include <string>

#include "model/stored_tensor.h"

namespace headlight::model {

/// Does the folder hold an adapter of PEFT (adapter_config.json)?
bool has_adapter(const std::filesystem::path& folder);

/// The folder of the model that an adapter changes: the path in its adapter_config.json, or the model of that name in the
/// Hugging Face cache. Throws Error saying how to get it when there is none.
std::filesystem::path base_of_adapter(const std::filesystem::path& folder);

/// The tensors of that model with a LoRA adapter (Hu et al. 2021) merged in: W + scale · B · A with scale = lora_alpha /
/// rank, or / √rank with use_rslora, computed in double precision and rounded to float32; and what it stores whole
/// (modules_to_save). Throws Error naming adapter and tensor for other kinds of adapters and for what doesn't fit the model.
TensorTable with_adapter(const TensorTable& base, const std::filesystem::path& folder);

}  // namespace headlight::model
