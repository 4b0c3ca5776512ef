#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "text/token.h"

namespace headlight::text {

/// Lines of a text as tokens (commas belong to none), and the size of their dictionary.
struct WordTokens {
  std::vector<std::vector<Token>> lines;  ///< one per non-empty line
  std::uint32_t vocabulary = 0;           ///< rows the embedding needs
};

/// Notebook 004's tokenizer: commas are removed, words are split at white space (Unicode White_Space), the dictionary
/// numbers the *sorted list of all words with repetitions*, so a repeated word keeps its last index and gaps remain.
/// Words sort by code point, as Python's sorted() does. The dictionary spans every text given together.
/// Fails in one line on invalid UTF-8 (which line and byte) and on a text without any word.
Result<std::vector<WordTokens>> tokenize_words(const std::vector<std::string_view>& texts);

/// Words of each line (also of empty ones) by the same rule, without building tokens: fast for a text of any size.
/// The text must be valid UTF-8.
std::vector<std::size_t> count_words_per_line(std::string_view text);

}  // namespace headlight::text
