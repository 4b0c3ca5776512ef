#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "text/token.h"
#include "text/word_splitter.h"

namespace headlight::text {

/// A word of a text, as a model over whole words would read it.
struct VocabularyWord {
  std::string text;      ///< lower-cased; "<sos>", "<eos>"
  std::uint32_t id = 0;  ///< 0: the vocabulary doesn't have it, <unk>
  ByteRange bytes = {};  ///< of the text; empty for <sos> and <eos>
};

/// The words that a training text has at least `min_count` times, numbered as torchtext's Vocab does: <unk>, <pad>, <sos>,
/// <eos>, then by how often they are and by their characters.
class WordVocabulary {
 public:
  /// `words`: in their order, from id 4 on.
  WordVocabulary(WordLanguage language, std::vector<std::string> words);

  WordLanguage language() const { return language_; }
  std::size_t size() const { return ids_.size() + kSpecials; }
  /// <sos>, the text's words, <eos>. Invalid UTF-8 counts as U+FFFD.
  std::vector<VocabularyWord> encode(std::string_view text) const;

  static constexpr std::uint32_t kUnknown = 0, kBeginning = 2, kEnd = 3, kSpecials = 4;

 private:
  WordLanguage language_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

/// Vocabularies of both sides of a translator.
struct WordVocabularies {
  WordVocabulary source, target;
};

/// The vocabularies of whole words beside a model: notebook_words.json of its folder, {"source": {"language": "de",
/// "words": […]}, "target": …}. Null where the folder has no such file. Throws Error in one line.
std::shared_ptr<const WordVocabularies> read_word_vocabularies(const std::filesystem::path& folder);

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
