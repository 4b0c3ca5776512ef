#pragma once

#include <string_view>

#include "text/pipeline.h"

namespace headlight::text {

/// The stages that a tokenizer.json describes. Throws Error naming `file`, the place in it and the reason.
Stages read_tokenizer_json(std::string_view text, std::string_view file);

}  // namespace headlight::text
