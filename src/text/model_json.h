#pragma once

#include "text/json_node.h"
#include "text/word_model.h"

namespace headlight::text {

/// The model of a tokenizer.json. Throws Error naming the node of a value that it doesn't support.
WordModelPointer read_word_model(const JsonNode& node);

/// An object of token strings to ids, as in vocab.json.
Vocabulary read_vocabulary(const JsonNode& node);

}  // namespace headlight::text
