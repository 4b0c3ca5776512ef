#pragma once

#include <string_view>

#include "text/pre_tokenizer.h"

namespace headlight::text {

/// How a byte-level BPE in a GGUF file cuts a text into words, by its tokenizer.ggml.pre.
struct GgufWords {
  PreTokenizerPointer pre_tokenizer;  ///< spells bytes too
  bool ignores_merges = false;        ///< whole words of the vocabulary are tokens
  bool adds_beginning = false;        ///< where the file doesn't say
  bool composes = false;              ///< normalizes to NFC
};

/// Throws Error for a name that isn't known: other words would give other tokens without a word of warning.
GgufWords read_gguf_words(std::string_view pre_tokenizer);

}  // namespace headlight::text
