#pragma once

#include "text/pipeline.h"

namespace headlight::text {

/// The stages of the tokenizer in a GGUF file. Throws Error naming the key that is missing or has an unsupported value.
Stages read_gguf_vocabulary(const GgufVocabulary& vocabulary);

}  // namespace headlight::text
