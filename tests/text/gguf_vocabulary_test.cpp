// The tokenizers of GGUF files: the vocabularies of the golden folders, written as a GGUF file has them, must give the
// same tokens.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "text/gguf_vocabulary.h"
#include "text/golden_tokenizer.h"
#include "text/sentence_piece_file.h"
#include "text/tokenizer.h"

namespace gguf_vocabulary_test {

using namespace headlight;
using namespace headlight::test;
using text::GgufVocabulary;
using text::Token;
using text::Tokenizer;

namespace {

const std::filesystem::path kFolder = std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "tokenizers";

nlohmann::json read_json(const std::string& name) {
  return nlohmann::json::parse(read_file(kFolder / name / "tokenizer.json"));
}

/// Token strings and types of a tokenizer.json.
GgufVocabulary read_vocabulary(const nlohmann::json& tokenizer) {
  GgufVocabulary file;
  std::vector<std::pair<std::uint32_t, std::string>> entries;
  for (const auto& [token_string, id] : tokenizer["model"]["vocab"].items()) entries.emplace_back(id, token_string);
  for (const auto& token : tokenizer["added_tokens"]) entries.emplace_back(token["id"], token["content"]);
  for (const auto& [id, token_string] : entries) {
    file.tokens.resize(std::max<std::size_t>(file.tokens.size(), id + 1));
    file.tokens[id] = token_string;
  }
  file.token_types.assign(file.tokens.size(), 1);
  for (const auto& token : tokenizer["added_tokens"])
    file.token_types[token["id"].get<std::size_t>()] = token["special"] ? 3 : 4;
  return file;
}

GgufVocabulary read_pieces(const std::string& name) {
  GgufVocabulary file;
  const text::SentencePieceFile model = text::read_sentence_piece_file(kFolder / name);
  for (const auto& piece : model.pieces) {
    file.tokens.push_back(piece.token_string);
    file.scores.push_back(piece.score);
    file.token_types.push_back(static_cast<std::int32_t>(piece.type));
  }
  file.character_map = model.character_map;
  file.special.unknown = static_cast<std::uint32_t>(model.unknown);
  file.special.end = static_cast<std::uint32_t>(model.end);
  if (model.beginning >= 0) file.special.beginning = static_cast<std::uint32_t>(model.beginning);
  return file;
}

int count_differences(const Tokenizer& tokenizer, const std::string& golden_name) {
  const GoldenTokenizer golden = read_golden_tokenizer(golden_name);
  int differences = 0;
  for (std::size_t i = 0; i < golden.texts.size(); ++i) {
    const std::vector<Token> tokens = tokenizer.encode(golden_texts()[i]);
    const auto& expected = golden.texts[i].tokens;
    const bool same = std::equal(tokens.begin(), tokens.end(), expected.begin(), expected.end(),
                                 [](const Token& a, const GoldenToken& b) { return a.id == b.id && a.bytes == b.bytes; });
    if (!same) ++differences;
  }
  return differences;
}

std::string refusal(const GgufVocabulary& file) {
  try {
    Tokenizer::from_gguf(file);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("gpt2: byte-level merges with the words of llama-bpe") {
    const nlohmann::json tokenizer = read_json("llama3");
    GgufVocabulary file = read_vocabulary(tokenizer);
    file.model = "gpt2";
    file.pre_tokenizer = "llama-bpe";
    for (const auto& merge : tokenizer["model"]["merges"])
      file.merges.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    for (std::uint32_t id = 0; id < file.tokens.size(); ++id) {
      if (file.tokens[id] == "<|begin_of_text|>") file.special.beginning = id;
    }
    REQUIRE(file.special.beginning);
    CHECK(count_differences(Tokenizer::from_gguf(file), "llama3") == 0);

    // Another splitting rule gives other tokens: the name matters.
    file.pre_tokenizer = "gpt-2";
    file.adds_beginning = true;
    CHECK(count_differences(Tokenizer::from_gguf(file), "llama3") > 100);
  }

  TEST_CASE("llama: merges from scores, bytes for unknown characters") {
    GgufVocabulary file = read_pieces("llama/tokenizer.model");
    file.model = "llama";
    const Tokenizer tokenizer = Tokenizer::from_gguf(file);
    CHECK(count_differences(tokenizer, "llama") == 0);
    CHECK(tokenizer.special().beginning == 1);
    CHECK(tokenizer.special().end == 2);
    file.adds_beginning = false;
    CHECK(Tokenizer::from_gguf(file).encode("").empty());
  }

  TEST_CASE("t5: a unigram model with its map of characters") {
    GgufVocabulary file = read_pieces("t5/spiece.model");
    file.model = "t5";
    for (int i = 99; i >= 0; --i) {
      file.tokens.push_back("<extra_id_" + std::to_string(i) + ">");
      file.scores.push_back(0.0F);
      file.token_types.push_back(3);
    }
    CHECK(count_differences(Tokenizer::from_gguf(file), "t5") == 0);
    // XLM-RoBERTa's have a token in front, too.
    const auto ids = [&] {
      std::vector<std::uint32_t> found;
      for (const Token& token : Tokenizer::from_gguf(file).encode_pair("a", "b")) found.push_back(token.id);
      return found;
    };
    file.special.beginning = 3;
    const std::vector<std::uint32_t> plain = ids();
    REQUIRE(plain.size() >= 4);
    file.adds_beginning = true;
    const std::vector<std::uint32_t> enclosed = ids();
    CHECK(enclosed.front() == 3);
    CHECK(enclosed.size() == plain.size() + 2);
    CHECK(std::ranges::count(enclosed, 1u) == 3);
    file.adds_end = false;
    CHECK(std::ranges::count(ids(), 1u) == 0);
  }

  TEST_CASE("bert: words are marked instead of their continuations") {
    GgufVocabulary file = read_vocabulary(read_json("minilm"));
    file.model = "bert";
    for (std::string& token_string : file.tokens) {
      if (token_string.starts_with('[') && token_string.ends_with(']')) continue;
      token_string = token_string.starts_with("##") ? token_string.substr(2) : "▁" + token_string;
    }
    CHECK(count_differences(Tokenizer::from_gguf(file), "minilm") == 0);
    const std::size_t all = Tokenizer::from_gguf(file).encode("a").size();
    file.special.beginning = 2;
    file.special.separator = 3;
    file.adds_end = false;
    CHECK(Tokenizer::from_gguf(file).encode("a").size() == all - 1);
    file.adds_beginning = false;
    CHECK(Tokenizer::from_gguf(file).encode("a").size() == all - 2);
  }

  TEST_CASE("every known rule for words compiles and cuts a text without losing a byte") {
    for (const char* name : {"", "default", "gpt-2", "llama-bpe", "qwen2", "smollm", "gpt-4o", "tekken", "bloom", "viking",
                             "falcon", "deepseek-v3", "olmo", "gpt-neox", "seed-coder", "exaone4"}) {
      CAPTURE(name);
      GgufVocabulary file = read_vocabulary(read_json("llama3"));
      file.model = "gpt2";
      file.pre_tokenizer = name;
      file.merges = {"Ġ t"};
      const Tokenizer tokenizer = Tokenizer::from_gguf(file);
      const std::string typed = "It's 12345 things\n\n  and MORE, naïve: 漢字 (ok)!";
      std::vector<std::uint32_t> ids;
      for (const Token& token : tokenizer.encode(typed, false)) ids.push_back(token.id);
      CHECK(tokenizer.decode(ids) == typed);
      CHECK(tokenizer.notes().size() == (file.pre_tokenizer.empty() ? 1 : 0));  // a guess is said
    }
  }

  TEST_CASE("words are those of each family's tokenizer") {
    const nlohmann::json golden = nlohmann::json::parse(read_file(kFolder / "gguf_words.json"));
    std::size_t cases = 0;
    for (const auto& rule : golden["rules"].items()) {
      const std::string& name = rule.key();
      const nlohmann::json& lengths = rule.value();
      const text::GgufWords words = text::read_gguf_words(name);
      for (std::size_t i = 0; i < golden["texts"].size(); ++i) {
        const std::string typed = golden["texts"][i];
        CAPTURE(name);
        CAPTURE(typed);
        std::vector<text::Piece> pieces{{.text = text::NormalizedText(typed), .added = {}}};
        words.pre_tokenizer(pieces);
        std::vector<std::size_t> found;
        for (const text::Piece& piece : pieces) {
          const text::ByteRange range = piece.text.original({0, static_cast<std::uint32_t>(piece.text.text().size())});
          if (range.end > range.begin) found.push_back(range.end - range.begin);
        }
        CHECK(found == lengths[i].get<std::vector<std::size_t>>());
        ++cases;
      }
    }
    CHECK(cases >= 16 * 19);
  }

  TEST_CASE("unknown values are refused by their key") {
    GgufVocabulary file = read_pieces("llama/tokenizer.model");
    file.model = "rwkv";
    CHECK(refusal(file) == "tokenizer.ggml.model is \"rwkv\": Headlight knows gpt2, llama, bert and t5");
    file.model = "llama";
    file.scores.pop_back();
    CHECK(refusal(file) == "tokenizer.ggml.scores has 899 numbers for 900 tokens");
    file.model = "gpt2";
    file.pre_tokenizer = "surprise";
    CHECK(refusal(file).starts_with("tokenizer.ggml.merges is missing"));
    file.merges = {"e r"};
    CHECK(refusal(file).find("\"surprise\" (tokenizer.ggml.pre)") != std::string::npos);
    file.tokens.clear();
    CHECK(refusal(file).starts_with("tokenizer.ggml.tokens is missing"));
  }
}

}  // namespace gguf_vocabulary_test
