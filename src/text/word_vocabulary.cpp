#include "text/word_vocabulary.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "core/utf8.h"
#include "text/unicode.h"
#include "text/utf8_repair.h"

namespace headlight::text {

namespace {

constexpr JsonLimits kLimits{.bytes = std::size_t{16} << 20, .values = 1'000'000, .depth = 4};

WordVocabulary vocabulary_of(const nlohmann::json& file, const std::string& path, const char* side) {
  const auto found = file.is_object() ? file.find(side) : file.end();
  if (found == file.end() || !found->is_object()) throw Error("{}: expected an object \"{}\"", path, side);
  const auto name = found->find("language"), list = found->find("words");
  const bool has_both = name != found->end() && name->is_string() && list != found->end() && list->is_array();
  if (!has_both) throw Error("{}: {}: expected \"language\" and a list of \"words\"", path, side);
  const std::optional<WordLanguage> language = parse_word_language(name->get_ref<const std::string&>());
  if (!language) throw Error("{}: {}.language: expected \"de\" or \"en\", found {}", path, side, shown(*name));
  std::vector<std::string> words;
  for (const nlohmann::json& word : *list) {
    if (!word.is_string()) throw Error("{}: {}.words: expected texts, found {}", path, side, shown(word));
    words.push_back(word.get<std::string>());
  }
  return {*language, std::move(words)};
}

}  // namespace

WordVocabulary::WordVocabulary(WordLanguage language, std::vector<std::string> words) : language_(language) {
  for (std::string& word : words) ids_.emplace(std::move(word), static_cast<std::uint32_t>(ids_.size() + kSpecials));
}

std::vector<VocabularyWord> WordVocabulary::encode(std::string_view text) const {
  const RepairedUtf8 repaired(text);
  std::vector<VocabularyWord> words = {{.text = "<sos>", .id = kBeginning}};
  for (const ByteRange& range : split_words(repaired.text(), language_)) {
    std::string word = lower_cased(repaired.text().substr(range.begin, range.end - range.begin));
    const auto id = ids_.find(word);
    words.push_back(
        {.text = std::move(word), .id = id == ids_.end() ? kUnknown : id->second, .bytes = repaired.original(range)});
  }
  words.push_back({.text = "<eos>", .id = kEnd});
  return words;
}

std::shared_ptr<const WordVocabularies> read_word_vocabularies(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "notebook_words.json";
  std::error_code failure;
  if (!std::filesystem::exists(path, failure)) return nullptr;
  const nlohmann::json file = read_json(path, kLimits);
  return std::make_shared<const WordVocabularies>(
      WordVocabularies{vocabulary_of(file, utf8(path), "source"), vocabulary_of(file, utf8(path), "target")});
}

namespace {

struct Decoded {
  std::int32_t code_point = -1;  ///< −1: not valid UTF-8
  std::uint32_t bytes = 1;
};

Decoded decode(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {.code_point = first, .bytes = 1};
  Decoded decoded;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at);
  const utf8proc_ssize_t length =
      utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - at), &decoded.code_point);
  if (length > 0) decoded.bytes = static_cast<std::uint32_t>(length);
  return decoded;
}

/// Calls `emit(word, range)` for each word of text[begin, end); commas are removed from the word but stay inside its range.
template <typename Emit>
void split_line(std::string_view text, std::size_t begin, std::size_t end, Emit emit) {
  std::string word;
  std::size_t word_begin = 0;
  std::size_t word_end = 0;
  const auto flush = [&] {
    if (!word.empty()) emit(word, ByteRange{static_cast<std::uint32_t>(word_begin), static_cast<std::uint32_t>(word_end)});
    word.clear();
  };
  for (std::size_t at = begin; at < end;) {
    const Decoded decoded = decode(text, at);
    if (is_white_space(static_cast<char32_t>(decoded.code_point))) {
      flush();
    } else if (decoded.code_point != ',') {
      if (word.empty()) word_begin = at;
      word.append(text, at, decoded.bytes);
      word_end = at + decoded.bytes;
    }
    at += decoded.bytes;
  }
  flush();
}

/// Counts the words of one line.
std::size_t count_words(std::string_view line) {
  std::size_t words = 0;
  bool inside = false;
  for (std::size_t at = 0; at < line.size();) {
    const Decoded decoded = decode(line, at);
    at += decoded.bytes;
    if (decoded.code_point == ',') continue;
    const bool white = is_white_space(static_cast<char32_t>(decoded.code_point));
    if (!white && !inside) ++words;
    inside = !white;
  }
  return words;
}

/// Calls `visit(line number from 1, begin, end)` for each line.
template <typename Visit>
void for_each_line(std::string_view text, Visit visit) {
  std::size_t number = 1;
  for (std::size_t begin = 0; begin <= text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    visit(number, begin, end);
    begin = end + 1;
  }
}

std::string where_invalid(std::string_view text, std::size_t at) {
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const std::size_t line_begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1 is 0: the first line
  return fmt::format("the text is not valid UTF-8: line {}, byte {} is 0x{:02X}; save the text as UTF-8", line,
                     at - line_begin + 1, static_cast<unsigned char>(text[at]));
}

}  // namespace

std::vector<std::size_t> count_words_per_line(std::string_view text) {
  std::vector<std::size_t> counts;
  for_each_line(text, [&](std::size_t, std::size_t begin, std::size_t end) {
    counts.push_back(count_words(text.substr(begin, end - begin)));
  });
  return counts;
}

Result<std::vector<WordTokens>> tokenize_words(const std::vector<std::string_view>& texts) {
  std::vector<WordTokens> tokenized(texts.size());
  std::vector<std::string_view> dictionary;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string_view text = texts[i];
    if (const std::size_t at = find_invalid_utf8(text); at != std::string_view::npos)
      return Failure{where_invalid(text, at)};
    for_each_line(text, [&](std::size_t, std::size_t begin, std::size_t end) {
      std::vector<Token> line;
      split_line(text, begin, end,
                 [&](const std::string& word, ByteRange range) { line.push_back({.id = 0, .text = word, .bytes = range}); });
      if (!line.empty()) tokenized[i].lines.push_back(std::move(line));
    });
    if (tokenized[i].lines.empty()) return Failure{"there is no word in the text: type at least one"};
  }

  for (const WordTokens& tokens : tokenized) {
    for (const std::vector<Token>& line : tokens.lines) {
      for (const Token& token : line) dictionary.push_back(token.text);
    }
  }
  // Bytes of UTF-8 sort as code points do.
  std::sort(dictionary.begin(), dictionary.end());
  std::unordered_map<std::string_view, std::uint32_t> ids;
  for (std::size_t i = 0; i < dictionary.size(); ++i) ids[dictionary[i]] = static_cast<std::uint32_t>(i);
  for (WordTokens& tokens : tokenized) {
    tokens.vocabulary = static_cast<std::uint32_t>(dictionary.size());
    for (std::vector<Token>& line : tokens.lines) {
      for (Token& token : line) token.id = ids.at(token.text);
    }
  }
  return tokenized;
}

}  // namespace headlight::text
