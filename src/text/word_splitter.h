#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/token.h"

namespace headlight::text {

enum class WordLanguage : std::uint8_t { German, English };

/// "de", "en".
std::optional<WordLanguage> parse_word_language(std::string_view name);

/// Words and punctuation marks as the rules of spaCy 3 split a text
/// (https://spacy.io/usage/linguistic-features#how-tokenizer-works): at white space; then, from each piece, punctuation at
/// its beginning and end, contractions ("do|n't") and what is between letters are split off, unless the piece is an
/// abbreviation ("z.B.") or a web address. White space beyond one space after a word is a word, as there. Of spaCy's special
/// cases emoticons and rare abbreviations aren't known. Runs of more than 64 bytes of punctuation may be cut elsewhere.
/// Thread-safe.
std::vector<ByteRange> split_words(std::string_view valid_utf8, WordLanguage language);

}  // namespace headlight::text
