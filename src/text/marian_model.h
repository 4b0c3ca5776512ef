#pragma once

#include <string>

#include "text/word_model.h"

namespace headlight::text {

/// Marian: libsentencepiece itself normalizes and splits the whole text, and `vocabulary` has the ids of the pieces;
/// `unknown` where it lacks one. `serialized` is the content of a SentencePiece model file. Throws Error when it is damaged.
WordModelPointer make_marian_model(const std::string& serialized, Vocabulary vocabulary, std::uint32_t unknown);

}  // namespace headlight::text
