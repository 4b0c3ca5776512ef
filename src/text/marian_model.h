#pragma once

#include <string>

#include "text/word_model.h"

namespace headlight::text {

/// Marian's way: libsentencepiece itself normalizes and cuts the whole text, and `vocabulary` has the ids of the pieces;
/// `unknown` where it lacks one. `serialized` is the content of a SentencePiece model file. Throws Error when it is broken.
WordModelPointer make_marian_model(const std::string& serialized, Vocabulary vocabulary, std::uint32_t unknown);

}  // namespace headlight::text
