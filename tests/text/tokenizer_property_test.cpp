// Properties of every tokenizer on every text, of any bytes.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "text/golden_tokenizer.h"
#include "text/label.h"
#include "text/tokenizer.h"

namespace tokenizer_property_test {

using namespace headlight;
using namespace headlight::test;
using text::to_labels;
using text::Token;
using text::Tokenizer;
using text::TokenStringKind;
using text::without_parts;

namespace {

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "tokenizers")) {
    if (entry.is_directory() && entry.path().filename() != "llama2") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Tokenizer load(const std::string& name) {
  return Tokenizer::load(std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "tokenizers" / name);
}

/// Random bytes of meaningful kinds: ASCII, continuation bytes, lead bytes, and sometimes whole tokens.
std::string random_bytes(std::mt19937& random) {
  static const std::vector<std::string> kParts = {"<s>",      "[MASK]", " ",     "  \n", "é", "漢", "👩‍👩‍👧",
                                                  "\xCC\x81", "Größe",  "<0x0A>"};
  std::string text;
  const std::size_t length = random() % 40;
  for (std::size_t i = 0; i < length; ++i) {
    switch (random() % 4) {
      case 0:
        text += static_cast<char>(random() % 256);
        break;
      case 1:
        text += static_cast<char>(0x80 + random() % 0x80);
        break;
      case 2:
        text += static_cast<char>(0x20 + random() % 0x5F);
        break;
      default:
        text += kParts[random() % kParts.size()];
        break;
    }
  }
  return text;
}

/// Ranges are inside the text, begins and ends in order; special tokens of the template have none.
void check_ranges(const std::vector<Token>& tokens, const std::string& text) {
  std::uint32_t last_begin = 0;
  bool inside = true;
  bool ordered = true;
  for (const Token& token : tokens) {
    inside = inside && token.bytes.begin <= token.bytes.end && token.bytes.end <= text.size();
    if (token.bytes.is_empty()) continue;
    ordered = ordered && token.bytes.begin >= last_begin;
    last_begin = token.bytes.begin;
  }
  CHECK(inside);
  CHECK(ordered);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("no bytes make a tokenizer throw, and its ranges stay inside the text") {
    for (const std::string& name : golden_names()) {
      CAPTURE(name);
      const Tokenizer tokenizer = load(name);
      std::mt19937 random(7);  // the same texts for each
      for (int i = 0; i < 400; ++i) {
        const std::string text = random_bytes(random);
        CAPTURE(text);
        const std::vector<Token> tokens = tokenizer.encode(text);
        // NFD and NFKD sort marks, so that pieces can be in another order than typed.
        if (name != "word-level" && name != "prefix-bpe" && name != "unigram" && !name.starts_with("stages")) {
          check_ranges(tokens, text);
        }
        std::vector<std::uint32_t> ids;
        for (const Token& token : tokens) {
          REQUIRE(token.id < tokenizer.vocabulary_size());
          REQUIRE(token.bytes.end <= text.size());
          CHECK(token.text == tokenizer.token_string(token.id));
          CHECK_FALSE(tokenizer.label(token.id).empty());
          ids.push_back(token.id);
        }
        tokenizer.decode(ids);
        tokenizer.encode_pair(text, "b", false);
      }
    }
  }

  TEST_CASE("a byte-level tokenizer gives back every valid text, and its tokens cover it without gaps") {
    for (const char* name : {"gpt2", "llama3"}) {
      const Tokenizer tokenizer = load(name);
      for (const std::string& text : golden_texts()) {
        const std::vector<Token> tokens = tokenizer.encode(text, false);
        std::uint32_t covered = 0;
        bool gapless = true;
        std::vector<std::uint32_t> ids;
        for (const Token& token : tokens) {
          gapless = gapless && token.bytes.begin <= covered;
          covered = std::max(covered, token.bytes.end);
          ids.push_back(token.id);
        }
        CHECK(gapless);
        CHECK(covered == text.size());
        // Decoding repairs an invalid text: encoding the result gives the same tokens.
        std::vector<std::uint32_t> again;
        for (const Token& token : tokenizer.encode(tokenizer.decode(ids, false), false)) again.push_back(token.id);
        CHECK(again == ids);
      }
    }
  }

  TEST_CASE("ids outside the vocabulary are left out when decoding and have no token string") {
    const Tokenizer tokenizer = load("gpt2");
    const std::vector<std::uint32_t> ids = {15496, 4000000000U, 995, tokenizer.vocabulary_size()};
    CHECK(tokenizer.decode(ids) == "Hello world");
    CHECK(tokenizer.token_string(tokenizer.vocabulary_size()).empty());
    CHECK(tokenizer.label(tokenizer.vocabulary_size()).empty());
    CHECK(tokenizer.find("Ġworld") == 995U);
    CHECK_FALSE(tokenizer.find("no such token"));
  }

  TEST_CASE("invalid UTF-8 counts as U+FFFD, and its range is the invalid bytes") {
    const Tokenizer tokenizer = load("gpt2");
    const std::vector<Token> tokens = tokenizer.encode("a\xE2\x82z\xFF");
    REQUIRE(tokens.size() >= 4);
    CHECK(tokens.front().bytes == text::ByteRange{0, 1});
    CHECK(tokens[1].bytes == text::ByteRange{1, 3});
    CHECK(tokens.back().bytes == text::ByteRange{4, 5});
  }

  TEST_CASE("labels are readable") {
    const Tokenizer gpt2 = load("gpt2");
    const auto label = [](const Tokenizer& tokenizer, const char* token_string) {
      return tokenizer.label(tokenizer.find(token_string).value());
    };
    CHECK(label(gpt2, "Ġworld") == "·world");
    CHECK(label(gpt2, "Ċ") == "⏎");
    CHECK(label(gpt2, "Ã©") == "é");
    CHECK(label(gpt2, "Ã") == "\\xC3");
    CHECK(label(gpt2, "<|endoftext|>") == "<|endoftext|>");
    const Tokenizer llama = load("llama");
    CHECK(label(llama, "▁a") == "·a");
    CHECK(label(llama, "<0x0A>") == "⏎");
    CHECK(label(llama, "<0xC3>") == "<0xC3>");
    const Tokenizer bert = load("minilm");
    CHECK(label(bert, "##ing") == "##ing");
  }

  TEST_CASE("tokens that are parts of a character show the character and which part they are") {
    using Labels = std::vector<std::string>;
    const TokenStringKind words = TokenStringKind::WordMarks;
    const auto labels = [](std::vector<std::string_view> token_strings, TokenStringKind kind) {
      return to_labels(token_strings, kind);
    };
    CHECK(labels({"<0xE8>", "<0xAA>", "<0x9E>"}, words) == Labels{"語¦", "¦語¦", "¦語"});
    CHECK(labels({"▁a", "<0xC3>", "<0xA9>", "b"}, words) == Labels{"·a", "é¦", "¦é", "b"});
    CHECK(labels({"<0xC3>", "a"}, words) == Labels{"<0xC3>", "a"});
    CHECK(labels({"<0xE8>", "", "<0xAA>", "<0x9E>"}, words) != Labels{"語¦", "", "¦語¦", "¦語"});
    // GPT-2's letters: a space and the first two bytes, then the last byte and a comma.
    CHECK(labels({"Ġèª", "ŀ,"}, TokenStringKind::ByteLetters) == Labels{"·語¦", "¦語,"});
    CHECK(labels({"Ã©", "Ã"}, TokenStringKind::ByteLetters) == Labels{"é", "\\xC3"});
    // Parts of a word show its character at the first one, and the others nothing.
    CHECK(without_parts("·a語¦") == "·a語");
    CHECK(without_parts("¦語,é¦") == ",é");
    CHECK(without_parts("¦語").empty());
    CHECK(without_parts("·1/2") == "·1/2");
    const Tokenizer gpt2 = load("gpt2");
    std::vector<std::uint32_t> ids;
    for (const Token& token : gpt2.encode("語")) ids.push_back(token.id);
    REQUIRE(ids.size() > 1);
    CHECK(gpt2.labels(ids).front() == "語¦");
    CHECK(gpt2.labels(ids).back() == "¦語");
  }

  TEST_CASE("special tokens are found by their role") {
    const Tokenizer bert = load("minilm");
    CHECK(bert.kind() == "WordPiece");
    CHECK(bert.special().classification == 101U);
    CHECK(bert.special().separator == 102U);
    CHECK(bert.special().mask == 103U);
    CHECK(bert.special().padding == 0U);
    CHECK(bert.special().unknown == 100U);
    CHECK_FALSE(bert.special().beginning);
    const std::vector<Token> pair = bert.encode_pair("one [MASK]", "two");
    REQUIRE(pair.size() == 6);
    CHECK(pair[0].is_special);
    CHECK(pair[0].bytes.is_empty());
    CHECK_FALSE(pair[1].is_special);
    CHECK(pair[2].is_special);
    CHECK(pair[2].bytes == text::ByteRange{4, 10});
    CHECK(pair[4].sequence == 1);
    CHECK(pair[4].source == 1);
    CHECK(pair[4].bytes == text::ByteRange{0, 3});
    CHECK(load("llama").special().beginning == 1U);
    CHECK(load("gpt2").special().end == 50256U);
    CHECK(load("t5").special().padding == 0U);
    CHECK(load("unigram").kind() == "Unigram");
  }

  TEST_CASE("several threads may use one tokenizer") {
    const Tokenizer tokenizer = load("minilm");
    const std::vector<Token> expected = tokenizer.encode(golden_texts()[20]);
    std::vector<int> same(4, 0);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < same.size(); ++i) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < 50; ++round) same[i] += tokenizer.encode(golden_texts()[20]) == expected;
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const int count : same) CHECK(count == 50);
  }
}

}  // namespace tokenizer_property_test
