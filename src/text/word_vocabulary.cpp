#include "text/word_vocabulary.h"

#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
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

}  // namespace headlight::text
