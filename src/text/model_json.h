#pragma once

#include "text/json_place.h"
#include "text/word_model.h"

namespace headlight::text {

/// The model of a tokenizer.json. Throws Error naming the place of what it doesn't understand.
WordModelPointer read_word_model(const JsonPlace& place);

/// An object of spellings and ids, as in vocab.json.
Vocabulary read_vocabulary(const JsonPlace& place);

}  // namespace headlight::text
