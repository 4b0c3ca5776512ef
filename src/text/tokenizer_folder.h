#pragma once

#include <filesystem>

#include "text/pipeline.h"

namespace headlight::text {

/// The side of an encoder–decoder that a text is for; only Marian's two tokenizers differ.
enum class Side { Source, Target };

/// The tokenizer of a model's folder, from the files it has. Throws Error naming file, place and reason.
Stages read_tokenizer_folder(const std::filesystem::path& folder, Side side);

}  // namespace headlight::text
