#pragma once

#include "model/architectures/settings.h"
#include "model/gguf.h"

namespace headlight::model {

/// A GGUF file's metadata of its architecture, as load_network reads a config.json: "llama.block_count" as "block_count",
/// and values from elsewhere in the file (tokenizer ids, RoPE factors, vocabulary) under their names in config.json.
/// Throws Error naming what Headlight doesn't compute.
Settings gguf_settings(const GgufFile& file);

}  // namespace headlight::model
