#pragma once

#include "model/architectures/settings.h"
#include "model/gguf.h"

namespace headlight::model {

/// A GGUF file's metadata of its architecture, as load_network reads a config.json: "llama.block_count" as "block_count",
/// and under their names in config.json what lies elsewhere in the file (ids of the tokenizer, rotary factors, vocabulary).
/// Throws Error naming what Headlight doesn't compute.
Settings gguf_settings(const GgufFile& file);

}  // namespace headlight::model
