// Words as spaCy splits them (tests/golden/words, by tools/make_words_golden.py), and vocabularies of whole words.
#include "text/word_splitter.h"

#include <doctest/doctest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"
#include "text/word_vocabulary.h"

namespace word_splitter_test {

using namespace headlight;
using text::VocabularyWord;
using text::WordLanguage;
using Words = std::vector<std::string>;

namespace {

Words words_in(const std::string& text, WordLanguage language) {
  Words words;
  for (const text::ByteRange& range : text::split_words(text, language)) {
    words.push_back(text.substr(range.begin, range.end - range.begin));
  }
  return words;
}

text::WordVocabulary small_vocabulary() { return {WordLanguage::German, {".", "ein", "hund", "t-shirt"}}; }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("sentences are split as spaCy splits them") {
    const nlohmann::json golden = read_json(HEADLIGHT_GOLDEN_DIR "/words/spacy.json");
    std::size_t cases = 0;
    for (const char* name : {"de", "en"}) {
      for (const nlohmann::json& sentence : golden.at("cases").at(name)) {
        CAPTURE(name);
        const std::string text = sentence.at("text");
        CAPTURE(text);
        CHECK(words_in(text, *text::parse_word_language(name)) == sentence.at("words").get<Words>());
        ++cases;
      }
    }
    CHECK(cases >= 68);
    CHECK_FALSE(text::parse_word_language("fr"));
  }

  TEST_CASE("words and the white space between them are the whole text") {
    for (const std::string& text :
         {std::string("  a\tb\u3000c  "), std::string(5000, '.'), std::string(5000, '!') + "x", std::string()}) {
      std::uint32_t at = 0;
      for (const text::ByteRange& range : text::split_words(text, WordLanguage::English)) {
        CHECK((range.begin == at || (range.begin == at + 1 && text[at] == ' ')));
        CHECK(range.end > range.begin);
        at = range.end;
      }
      CHECK(at + 1 >= text.size());
    }
  }

  TEST_CASE("a vocabulary of whole words lower-cases, numbers from 4 on, and knows no other word") {
    const std::vector<VocabularyWord> words = small_vocabulary().encode("Ein HUND im T-Shirt.");
    Words texts;
    std::vector<std::uint32_t> ids;
    for (const VocabularyWord& word : words) {
      texts.push_back(word.text);
      ids.push_back(word.id);
    }
    CHECK(texts == Words{"<sos>", "ein", "hund", "im", "t-shirt", ".", "<eos>"});
    CHECK(ids == std::vector<std::uint32_t>{2, 5, 6, 0, 7, 4, 3});
    CHECK(words[3].bytes == text::ByteRange{9, 11});
    CHECK(words[0].bytes.is_empty());
    CHECK(small_vocabulary().size() == 8);
    CHECK(small_vocabulary().encode("\xFFhund")[2].bytes == text::ByteRange{1, 5});
  }

  TEST_CASE("the bundled translator's lists are as large as the notebook's vocabularies") {
    const auto lists = text::read_word_vocabularies(HEADLIGHT_ASSETS_DIR "/models/multi30k-de-en");
    REQUIRE(lists);
    CHECK(lists->source.size() == 7853);
    CHECK(lists->target.size() == 5893);
    const std::vector<VocabularyWord> words = lists->source.encode("Ein Hund jagt einen Papierflieger.");
    CHECK(words[1].id == 5);  // the second most frequent, after the full stop
    CHECK(words[5].id == text::WordVocabulary::kUnknown);
    CHECK_FALSE(text::read_word_vocabularies(HEADLIGHT_ASSETS_DIR "/models/captions-gpt2"));
  }

  TEST_CASE("a list that is none is refused in one line that names the file") {
    const TemporaryDirectory folder;
    const std::filesystem::path path = folder.path() / "notebook_words.json";
    for (const auto& [content, expected] :
         {std::pair{"[]", ": expected an object \"source\""},
          std::pair{R"({"source": {"language": "de"}})", ": source: expected \"language\" and a list of \"words\""},
          std::pair{R"({"source": {"language": "fr", "words": []}})",
                    ": source.language: expected \"de\" or \"en\", found \"fr\""},
          std::pair{R"({"source": {"language": "de", "words": [1]}})", ": source.words: expected texts, found 1"},
          std::pair{R"({"source": {"language": "de", "words": []}})", ": expected an object \"target\""}}) {
      std::ofstream(path) << content;
      CHECK(test::error_message([&] { text::read_word_vocabularies(folder.path()); }) == path.string() + expected);
    }
  }
}

}  // namespace word_splitter_test
