// Every tokenizer against the `tokenizers` package's output for the same texts and files: exact equality.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "support/skip.h"
#include "text/golden_tokenizer.h"
#include "text/tokenizer.h"

namespace tokenizer_golden_test {

using namespace headlight;
using namespace headlight::test;
using text::Token;
using text::Tokenizer;

namespace {

std::filesystem::path folder(const std::string& name) {
  return std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "tokenizers" / name;
}

std::string show(const std::vector<GoldenToken>& tokens, const Tokenizer& tokenizer) {
  std::string line;
  for (const GoldenToken& token : tokens)
    line += fmt::format("{}:{}[{},{})", token.id, tokenizer.token_string(token.id), token.bytes.begin, token.bytes.end);
  return line;
}

std::string show(const std::vector<Token>& tokens) {
  std::string line;
  for (const Token& token : tokens)
    line += fmt::format("{}:{}[{},{})", token.id, token.text, token.bytes.begin, token.bytes.end);
  return line;
}

bool equals(const std::vector<Token>& tokens, const std::vector<GoldenToken>& golden, bool with_types) {
  return std::equal(
      tokens.begin(), tokens.end(), golden.begin(), golden.end(), [&](const Token& token, const GoldenToken& expected) {
        return token.id == expected.id && token.bytes == expected.bytes && (!with_types || token.sequence == expected.type);
      });
}

std::vector<std::uint32_t> ids(const std::vector<Token>& tokens) {
  std::vector<std::uint32_t> list;
  for (const Token& token : tokens) list.push_back(token.id);
  return list;
}

std::uint64_t check_of_token_strings(const Tokenizer& tokenizer) {
  std::uint64_t check = 0xCBF29CE484222325U;
  for (std::uint32_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    const std::string_view token_string = tokenizer.token_string(id);
    if (token_string.empty()) continue;
    for (const char c : fmt::format("{} {}\n", id, token_string))
      check = (check ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  }
  return check;
}

/// Compares everything that was stored and reports the first differences of each kind.
void compare(const Tokenizer& tokenizer, const std::string& name) {
  CAPTURE(name);
  const GoldenTokenizer golden = read_golden_tokenizer(name);
  const std::vector<std::string>& texts = golden_texts();
  CHECK(golden.texts.size() >= 450);
  CHECK(tokenizer.vocabulary_size() == golden.vocabulary_size);
  CHECK(check_of_token_strings(tokenizer) == golden.token_strings_check);
  int wrong_tokens = 0, wrong_decoded = 0, wrong_plain = 0, wrong_pairs = 0;
  for (std::size_t i = 0; i < golden.texts.size(); ++i) {
    const GoldenText& expected = golden.texts[i];
    const std::vector<Token> tokens = tokenizer.encode(texts[i]);
    if (!equals(tokens, expected.tokens, false) && ++wrong_tokens <= 3)
      FAIL_CHECK("text ", i, " \"", texts[i], "\"\n is ", show(tokens), "\nnot ", show(expected.tokens, tokenizer));
    if (expected.decoded) {
      const std::string decoded = tokenizer.decode(ids(tokens));
      if (decoded != *expected.decoded && ++wrong_decoded <= 3)
        FAIL_CHECK("text ", i, " decodes to \"", decoded, "\"\nnot \"", *expected.decoded, "\"");
    }
    if (expected.plain) {
      const std::vector<Token> plain = tokenizer.encode(texts[i], false);
      if (ids(plain) != *expected.plain && ++wrong_plain <= 3)
        FAIL_CHECK("text ", i, " without special tokens: ", show(plain));
    }
    if (expected.pair) {
      const std::vector<Token> pair = tokenizer.encode_pair(texts[i], texts[(i + 1) % golden.texts.size()]);
      if (!equals(pair, *expected.pair, true) && ++wrong_pairs <= 3)
        FAIL_CHECK("texts ", i, ", ", i + 1, "\n are ", show(pair), "\nnot ", show(*expected.pair, tokenizer));
    }
  }
  CHECK(wrong_tokens == 0);
  CHECK(wrong_decoded == 0);
  CHECK(wrong_plain == 0);
  CHECK(wrong_pairs == 0);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("there are more than 2,000 texts, and some of them are broken UTF-8") {
    CHECK(golden_texts().size() > 2000);
    CHECK(golden_texts().front().empty());
    CHECK(std::find(golden_texts().begin(), golden_texts().end(), "\xFF") != golden_texts().end());
  }

  TEST_CASE("real tokenizers: ids, byte ranges, token strings, pairs and decoding are the reference's") {
    for (const char* name : {"gpt2", "minilm"}) compare(Tokenizer::load(folder(name)), name);
  }

  TEST_CASE("small tokenizers of every kind are the reference's") {
    for (const char* name : {"llama3", "qwen2", "roberta", "gemma", "word-bpe", "prefix-bpe", "cased-word-piece",
                             "word-level", "unigram", "unigram-bytes"})
      compare(Tokenizer::load(folder(name)), name);
  }

  TEST_CASE("every normalizer and pre-tokenizer gives the reference's bytes") {
    for (const char* name : {"stages-1", "stages-2", "stages-3", "stages-4", "stages-5", "stages-6", "stages-7", "stages-8"})
      compare(Tokenizer::load(folder(name)), name);
  }

  TEST_CASE("folders without a tokenizer.json are read as transformers reads them") {
    for (const char* name : {"bert-vocab", "roberta-vocab", "llama", "llama-newer", "t5", "albert", "gemma-model"})
      compare(Tokenizer::load(folder(name)), name);
  }

  TEST_CASE("SentencePiece models whose tokenizers give other ids, and Qwen2's words without a tokenizer.json") {
    for (const char* name : {"xlm-roberta", "camembert", "mbart", "mbart50", "pegasus", "qwen2-vocab"})
      compare(Tokenizer::load(folder(name)), name);
  }

  TEST_CASE("folders of further families, which their classes or files name") {
    for (const char* name :
         {"gpt-neox", "codegen", "deberta", "blenderbot", "openai-gpt", "mpnet", "deberta-v2", "xglm", "nllb"})
      compare(Tokenizer::load(folder(name)), name);
  }

  TEST_CASE("vocabularies of byte strings: tiktoken's files and tekken.json") {
    for (const char* name : {"llama3-tiktoken", "qwen-tiktoken", "tekken"}) compare(Tokenizer::load(folder(name)), name);
  }

  TEST_CASE("tokenizers that know no byte ranges: ids and decoded sentences") {
    for (const std::string name : {"esm", "byt5", "m2m100"}) {
      CAPTURE(name);
      const nlohmann::json golden = nlohmann::json::parse(read_file(folder(name) / "ids.json"));
      const Tokenizer tokenizer = Tokenizer::load(folder(name));
      REQUIRE(golden["texts"].size() > 400);
      int wrong = 0;
      for (std::size_t i = 0; i < golden["texts"].size(); ++i) {
        const std::string& text = golden_texts()[golden["texts"][i].get<std::size_t>()];
        const std::vector<Token> tokens = tokenizer.encode(text);
        if (ids(tokens) != golden["ids"][i].get<std::vector<std::uint32_t>>() && ++wrong <= 3)
          FAIL_CHECK("\"", text, "\"\n is ", show(tokens), "\nnot ", golden["ids"][i].dump());
      }
      CHECK(wrong == 0);
      for (std::size_t i = 0; i < golden["sentences"].size(); ++i)
        CHECK(tokenizer.decode(ids(tokenizer.encode(golden["sentences"][i].get<std::string>()))) ==
              golden["decoded"][i].get<std::string>());
    }
  }
}

// These tests need files that the caller has: ctest's text.given, with the slow ones.
TEST_SUITE("given") {
  TEST_CASE("Llama 2's tokenizer, whose licence keeps it out of the repository") {
    const char* tokenizers = std::getenv("HEADLIGHT_TOKENIZERS");
    if (tokenizers == nullptr || !std::filesystem::exists(std::filesystem::path(tokenizers) / "llama2/tokenizer.model")) {
      return test::skip("HEADLIGHT_TOKENIZERS names no folder with llama2/tokenizer.model");
    }
    compare(Tokenizer::load(std::filesystem::path(tokenizers) / "llama2"), "llama2");
  }
}

}  // namespace tokenizer_golden_test
