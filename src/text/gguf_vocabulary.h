#pragma once

#include <string_view>

#include "text/stages.h"

namespace headlight::text {

/// The rule by which a byte-level BPE in a GGUF file splits a text into words, chosen by its tokenizer.ggml.pre.
struct GgufWords {
  PreTokenizer pre_tokenizer;   ///< also replaces bytes by letters of GPT-2's alphabet
  bool ignores_merges = false;  ///< whole words of the vocabulary are tokens
  bool adds_beginning = false;  ///< the default where the file doesn't say
  bool composes = false;        ///< normalizes to NFC
};

/// Throws Error for an unknown name: splitting by another rule would silently give other tokens.
GgufWords read_gguf_words(std::string_view pre_tokenizer);

}  // namespace headlight::text
