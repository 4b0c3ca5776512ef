#include "evaluation/words.h"

#include "text/regex.h"
#include "text/unicode.h"
#include "text/utf8_repair.h"

namespace headlight::evaluation {

std::vector<std::string> words_of(std::string_view text) {
  // Python's \w is str.isalnum() and the underscore, without the marks that other engines' \w has; its \s has the four
  // separators of ASCII (U+001C to U+001F) besides White_Space.
  static const text::Regex kWord(R"([\p{L}\p{N}_]+|[^\p{L}\p{N}_\s\x1C-\x1F])");
  const text::RepairedUtf8 repaired(text);
  const std::string lower = text::lower_cased(repaired.text());
  std::vector<std::string> words;
  for (const text::ByteRange& range : kWord.find_all(lower)) {
    words.push_back(lower.substr(range.begin, range.end - range.begin));
  }
  return words;
}

}  // namespace headlight::evaluation
