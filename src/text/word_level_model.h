#pragma once

#include <string>

#include "text/word_model.h"

namespace headlight::text {

/// A vocabulary of whole pieces; any other piece is `unknown`. Throws Error when the vocabulary lacks that token.
WordModelPointer make_word_level(Vocabulary vocabulary, const std::string& unknown);

}  // namespace headlight::text
