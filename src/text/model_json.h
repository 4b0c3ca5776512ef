#pragma once

#include "text/json_place.h"
#include "text/word_model.h"

namespace headlight::text {

/// The model of a tokenizer.json. Throws Error naming the place of a value that it doesn't support.
WordModelPointer read_word_model(const JsonPlace& place);

/// An object of token strings to ids, as in vocab.json.
Vocabulary read_vocabulary(const JsonPlace& place);

}  // namespace headlight::text
