#pragma once

#include "text/word_model.h"

namespace headlight::text {

/// A model whose tokens have their ids in another vocabulary; `unknown` where it lacks their spelling.
WordModelPointer make_renumbered_model(WordModelPointer model, Vocabulary vocabulary, std::uint32_t unknown);

}  // namespace headlight::text
