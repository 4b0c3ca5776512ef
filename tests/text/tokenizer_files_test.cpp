// Files that are damaged, incomplete or of an unknown kind: a one-line error, never a crash.
#include <doctest/doctest.h>

#include <filesystem>
#include <random>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"
#include "text/tokenizer.h"

namespace tokenizer_files_test {

using namespace headlight;
using text::Tokenizer;

namespace {

const std::filesystem::path kGolden = std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "tokenizers";

std::string refusal(const std::string& json) {
  try {
    Tokenizer::parse(json);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::string refusal(const std::filesystem::path& folder) {
  try {
    Tokenizer::load(folder);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

/// A tokenizer with the given stages around a valid model.
std::string with(const std::string& stages) {
  return fmt::format(
      R"({{"version":"1.0",{},"model":{{"type":"WordLevel","vocab":{{"[UNK]":0,"a":1}},"unk_token":"[UNK]"}}}})", stages);
}

std::string with_model(const std::string& model) { return fmt::format(R"({{"model":{}}})", model); }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a small tokenizer is accepted, so that the refusals below mean something") {
    CHECK(refusal(with(R"("normalizer":null)")) == "accepted");
  }

  TEST_CASE("JSON that isn't a tokenizer is refused with its place") {
    CHECK(refusal(std::string("")).find("tokenizer.json: not JSON (line 1, column 1)") == 0);
    CHECK(refusal(std::string("{\"a\":\n  ]}")).find("line 2") != std::string::npos);
    CHECK(refusal(std::string("[]")) == "tokenizer.json: a tokenizer is an object, but this is array");
    CHECK(refusal(std::string("{}")) == "tokenizer.json: model is missing");
    CHECK(refusal(std::string("\"\xFF\"")).find("tokenizer.json: ") == 0);
    CHECK(refusal(std::string(R"({"version":"2.0"})")) == "tokenizer.json: version is \"2.0\": Headlight knows version 1.0");
  }

  TEST_CASE("stages are refused with their place") {
    CHECK(refusal(with(R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Digits"},{"type":"Magic"}]})")) ==
          "tokenizer.json: pre_tokenizer.pretokenizers[1].type is \"Magic\": Headlight knows no pre-tokenizer of this type");
    CHECK(
        refusal(with(R"("normalizer":{"type":"Replace","pattern":{"Regex":"(a"},"content":""})"))
            .find(
                "tokenizer.json: normalizer.pattern.Regex is unusable: the regular expression \"(a\" can't be compiled: ") ==
        0);
    CHECK(refusal(with(R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"[b-a]"},"behavior":"Isolated"})"))
              .find("can't be compiled: empty range in char class") != std::string::npos);
    CHECK(refusal(with(R"("pre_tokenizer":{"type":"Split","pattern":{"String":"a"},"behavior":"Sideways"})"))
              .find("tokenizer.json: pre_tokenizer.behavior is \"Sideways\"") == 0);
    CHECK(refusal(with(R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"AA*"})")) ==
          "tokenizer.json: normalizer.precompiled_charsmap isn't base64");
    CHECK(refusal(with(R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"/////w=="})"))
              .find("tokenizer.json: normalizer.precompiled_charsmap is unusable: ") == 0);
    CHECK(refusal(with(R"("decoder":{"type":"Strip","content":"ab"})")) ==
          "tokenizer.json: decoder.content must be one character, but is \"ab\"");
    CHECK(refusal(with(R"("post_processor":{"type":"BertProcessing","sep":["a"],"cls":["b",1]})")) ==
          "tokenizer.json: post_processor.sep must be a token and an id");
    CHECK(refusal(with(R"("added_tokens":[{"id":3}])")) == "tokenizer.json: added_tokens[0].content is missing");
    CHECK(refusal(with(R"("added_tokens":7)")) == "tokenizer.json: added_tokens must be an array, but is number");
    CHECK(refusal(with(R"("normalizer":"NFC")")) == "tokenizer.json: normalizer must be an object, but is string");
  }

  TEST_CASE("models are refused with their place") {
    CHECK(refusal(with_model(R"({"type":"Magic"})")) ==
          "tokenizer.json: model.type is \"Magic\": Headlight knows BPE, WordPiece, Unigram and WordLevel");
    CHECK(refusal(with_model(R"({"type":"BPE","vocab":{"a":0,"b":1},"merges":["a b"]})")) ==
          "tokenizer.json: model is unusable: merge 0 needs the token \"ab\", which isn't in the vocabulary");
    CHECK(refusal(with_model(R"({"type":"BPE","vocab":{"a":0},"merges":["a","b"]})")) ==
          "tokenizer.json: model.merges[0] is \"a\": a merge is two tokens with a space between");
    CHECK(refusal(with_model(R"({"type":"BPE","vocab":{"a":0},"merges":[3]})")) ==
          "tokenizer.json: model.merges[0] must be a string, but is number");
    CHECK(refusal(with_model(R"({"type":"BPE","vocab":{"a":-1},"merges":[]})")) ==
          "tokenizer.json: model.vocab.a must be an id below 4194304, but is -1");
    CHECK(refusal(with_model(R"({"type":"WordPiece","vocab":{"a":0}})")) ==
          "tokenizer.json: model is unusable: the token for unknown words, \"[UNK]\", isn't in the vocabulary");
    CHECK(refusal(with_model(R"({"type":"Unigram","vocab":[["a",0.0],["b"]]})")) ==
          "tokenizer.json: model.vocab[1] must be a token and its score");
    CHECK(refusal(with_model(R"({"type":"Unigram","vocab":[["a",0.0]],"unk_id":5})")) ==
          "tokenizer.json: model is unusable: the id of unknown pieces is 5, but the vocabulary has 1 entries");
    CHECK(refusal(with_model(R"({"type":"Unigram","vocab":{}})")) ==
          "tokenizer.json: model.vocab must be an array, but is object");
  }

  TEST_CASE("folders are refused with the file") {
    const TemporaryDirectory scratch;
    const std::filesystem::path folder = scratch.path();
    CHECK(refusal(folder).find(folder.string() + " has no tokenizer: it needs tokenizer.json") == 0);
    write_file_atomically(folder / "vocab.txt", std::string_view("[UNK]\n[CLS]\nhello\n"));
    CHECK(refusal(folder) == (folder / "vocab.txt").string() + ": the token \"[SEP]\" isn't in the vocabulary");
    write_file_atomically(folder / "tokenizer.model", std::string_view("no SentencePiece model"));
    CHECK(refusal(folder).find((folder / "tokenizer.model").string() +
                               ": it is no SentencePiece model, or a damaged one: ") == 0);
    write_file_atomically(folder / "vocab.json", std::string_view("{\"a\": 0}"));
    write_file_atomically(folder / "merges.txt", std::string_view("#version: 0.2\na\n"));
    CHECK(refusal(folder) ==
          (folder / "merges.txt").string() + ": line 2 is \"a\": a merge is two tokens with a space between");
    write_file_atomically(folder / "tokenizer.json", std::string_view("{"));
    CHECK(refusal(folder).find((folder / "tokenizer.json").string() + ": not JSON (line 1") == 0);
    write_file_atomically(folder / "tokenizer_config.json", std::string_view("{\"bos_token\": {}}"));
    CHECK(refusal(folder) == (folder / "tokenizer_config.json").string() + ": bos_token.content is missing");
  }

  TEST_CASE("the type of the model stands in for the tokenizer's class, and unknown numberings are refused") {
    const TemporaryDirectory scratch;
    const auto ids_with = [&](const char* golden, std::string_view config, std::string_view notes) {
      const std::filesystem::path folder = scratch.path() / golden;
      std::filesystem::create_directories(folder);
      for (const char* name : {"sentencepiece.bpe.model", "spiece.model"}) {
        if (!std::filesystem::exists(kGolden / golden / name)) continue;
        write_file_atomically(folder / name, std::string_view(read_file(kGolden / golden / name)));
      }
      write_file_atomically(folder / "config.json", config);
      write_file_atomically(folder / "tokenizer_config.json", notes);
      std::vector<std::uint32_t> ids;
      for (const text::Token& token : Tokenizer::load(folder).encode("The fox")) ids.push_back(token.id);
      return ids;
    };
    const auto golden_ids = [&](const char* golden) {
      std::vector<std::uint32_t> ids;
      for (const text::Token& token : Tokenizer::load(kGolden / golden).encode("The fox")) ids.push_back(token.id);
      return ids;
    };
    CHECK(ids_with("xlm-roberta", R"({"model_type":"xlm-roberta"})", "{}") == golden_ids("xlm-roberta"));
    CHECK(ids_with("camembert", R"({"model_type":"camembert"})", "{}") == golden_ids("camembert"));
    CHECK(ids_with("pegasus", R"({"model_type":"pegasus"})", "{}") == golden_ids("pegasus"));
    CHECK(ids_with("mbart", R"({"model_type":"mbart"})", R"({"src_lang":"de_DE"})") == golden_ids("mbart"));
    CHECK(ids_with("mbart", R"({"model_type":"mbart"})", R"({"src_lang":"fr_XX"})").back() ==
          golden_ids("mbart").back() + 5);
    const std::string model = (scratch.path() / "mbart" / "sentencepiece.bpe.model").string();
    CHECK(test::error_message([&] { ids_with("mbart", "{}", R"({"tokenizer_class":"MBartTokenizer","src_lang":"xx"})"); }) ==
          model + ": tokenizer_config.json: src_lang is \"xx\", which isn't among mBART's languages");
    CHECK(test::error_message([&] {
            ids_with("mbart", "{}", R"({"tokenizer_class":"BarthezTokenizer"})");
          }).starts_with(model + ": Headlight doesn't know how BarthezTokenizer numbers the pieces"));
    CHECK(test::error_message([&] {
            ids_with("pegasus", "{}", R"({"tokenizer_class":"PegasusTokenizer","offset":0})");
          }).find("offset is 0") != std::string::npos);
  }

  TEST_CASE("tiktoken's files and tekken.json are refused with their place") {
    const TemporaryDirectory scratch;
    const std::filesystem::path file = scratch.path() / "qwen.tiktoken", model = scratch.path() / "tokenizer.model";
    write_file_atomically(file, std::string_view("IQ== 0\nIg== 2\n"));
    CHECK(refusal(scratch.path()) == file.string() + ": line 2 has the rank 2, but 1 comes next");
    write_file_atomically(file, std::string_view("IQ== 0\n\nIg==\n"));
    CHECK(refusal(scratch.path()) == file.string() + ": line 3 must be base64 of a token and its rank");
    write_file_atomically(file, std::string_view("IQ== 0\n"));
    CHECK(refusal(scratch.path()) == file.string() + ": the vocabulary has no token for the byte 0: it is damaged");
    write_file_atomically(scratch.path() / "tokenizer_config.json",
                          std::string_view(R"({"tokenizer_class":"KimiTokenizer"})"));
    write_file_atomically(model, std::string_view("IQ== 0\n"));
    CHECK(
        refusal(scratch.path())
            .starts_with(
                model.string() +
                ": tiktoken files don't say how words are cut, and Headlight doesn't know it of KimiTokenizer: in Python"));
    const std::filesystem::path tekken = scratch.path() / "tekken.json";
    const auto refused = [&](std::string_view json) {
      write_file_atomically(tekken, json);
      return refusal(scratch.path()).substr(tekken.string().size());
    };
    CHECK(refused("{}") == ": config is missing");
    CHECK(refused(R"({"config":{"pattern":"a","default_vocab_size":9,"default_num_special_tokens":10},"vocab":[]})") ==
          ": config has sizes that no vocabulary has");
    CHECK(refused(R"({"config":{"pattern":"a","default_vocab_size":9,"default_num_special_tokens":1},"special_tokens":
                      [{"rank":1,"token_str":"<s>"}],"vocab":[]})") ==
          ": special_tokens has the rank 1, but there are 1 special tokens");
    CHECK(refused(R"({"config":{"pattern":"a","default_vocab_size":9,"default_num_special_tokens":1},"special_tokens":[],
                      "vocab":[{"rank":0,"token_bytes":"*"}]})") == ": vocab[0].token_bytes isn't base64 of a token");
  }

  TEST_CASE("words that end in a mark or are cut by a program are refused by the tokenizer's class") {
    const TemporaryDirectory scratch;
    const auto refused = [&](const char* name, const std::string& content, const char* of) {
      const std::filesystem::path folder = scratch.path() / of;
      std::filesystem::create_directories(folder);
      write_file_atomically(folder / name, std::string_view(content));
      write_file_atomically(folder / "merges.txt", std::string_view("#version: 0.2\n"));
      write_file_atomically(folder / "tokenizer_config.json",
                            std::string_view(fmt::format(R"({{"tokenizer_class":"{}"}})", of)));
      return refusal(folder).substr((folder / name).string().size());
    };
    CHECK(
        refused("vocab.json", R"({"a</w>":0,"b":1})", "CLIPTokenizer")
            .starts_with(": Headlight doesn't know the rules by which CLIPTokenizer cuts words: in Python, AutoTokenizer"));
    CHECK(refused("vocab.json", R"({"a@@":0,"b":1})", "CTRLTokenizer").find("CTRLTokenizer cuts words") !=
          std::string::npos);
    CHECK(refused("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "BertJapaneseTokenizer").find("BertJapaneseTokenizer cuts") !=
          std::string::npos);
  }

  TEST_CASE("a tokenizer with bytes changed at random is refused or read, but never crashes") {
    for (const char* name : {"word-level", "unigram", "llama3"}) {
      const std::string whole = read_file(kGolden / name / "tokenizer.json");
      std::mt19937 random(11);
      for (int i = 0; i < 60; ++i) {
        std::string broken = whole;
        for (int change = 0; change < 4; ++change) broken[random() % broken.size()] = static_cast<char>(random() % 256);
        if (i % 3 == 0) broken.resize(random() % broken.size());
        const std::string answer = refusal(broken);
        CHECK(answer.find('\n') == std::string::npos);
        if (answer == "accepted") Tokenizer::parse(broken).encode("Hello wörld, 漢字 👍🏽");
      }
    }
    const TemporaryDirectory scratch;
    const std::string whole = read_file(kGolden / "llama/tokenizer.model");
    std::mt19937 random(12);
    for (int i = 0; i < 40; ++i) {
      std::string broken = whole;
      for (int change = 0; change < 4; ++change) broken[random() % broken.size()] = static_cast<char>(random() % 256);
      write_file_atomically(scratch.path() / "tokenizer.model", std::string_view(broken));
      if (refusal(scratch.path()) == "accepted") Tokenizer::load(scratch.path()).encode("Hello wörld");
    }
  }
}

}  // namespace tokenizer_files_test
