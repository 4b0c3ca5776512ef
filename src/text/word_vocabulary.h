#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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

}  // namespace headlight::text
