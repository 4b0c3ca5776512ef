// Tokenizers made to exhaust the stack, the memory or the time of the process: each is refused in one line, quickly.
#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"
#include "text/added_tokens.h"
#include "text/regex.h"
#include "text/tokenizer.h"

namespace hostile_tokenizer_test {

using namespace headlight;
using namespace headlight::test;
using text::GgufVocabulary;
using text::Regex;
using text::Tokenizer;

namespace {

const std::filesystem::path kTokenizers = std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "tokenizers";
constexpr double kMost_s = 20.0;  // of processor time, with sanitizers; each case takes milliseconds

/// A tokenizer.json with these stages around a model of one word.
std::string with(const std::string& stages) {
  return fmt::format(
      R"({{"version":"1.0",{},"model":{{"type":"WordLevel","vocab":{{"<unk>":0,"hello":1}},"unk_token":"<unk>"}}}})",
      stages);
}

/// The error of opening the tokenizer or of encoding `text`.
std::string refusal(const std::string& json, const std::string& text = "aaaa hello") {
  return error_message([&] { (void)Tokenizer::parse(json).encode(text); });
}

std::string refusal(const GgufVocabulary& vocabulary) {
  return error_message([&] { (void)Tokenizer::from_gguf(vocabulary).encode("aaa \U0001f600 a\u2581b"); });
}

std::string repeated(const std::string& item, int count) {
  std::string list;
  for (int i = 0; i < count; ++i) list += (i == 0 ? "" : ",") + item;
  return list;
}

std::string split_by(const std::string& regex) {
  return with(fmt::format(R"("pre_tokenizer":{{"type":"Split","pattern":{{"Regex":"{}"}},"behavior":"Isolated"}})", regex));
}

/// Processor seconds that `act` takes.
template <typename Act>
double seconds_of(const Act& act) {
  const std::clock_t start = std::clock();
  act();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

GgufVocabulary llama(std::vector<std::string> tokens) {
  GgufVocabulary file;
  file.model = "llama";
  file.tokens = std::move(tokens);
  file.scores.assign(file.tokens.size(), -1.0f);
  file.token_types.assign(file.tokens.size(), 1);
  return file;
}

/// A field of a Protocol Buffers message that holds bytes.
std::string field(unsigned number, const std::string& bytes) {
  std::string text(1, static_cast<char>(number << 3U | 2U));
  std::size_t size = bytes.size();
  for (; size >= 0x80; size >>= 7U) text += static_cast<char>(0x80U | (size & 0x7FU));
  return text + static_cast<char>(size) + bytes;
}

std::string little_endian(const std::vector<std::uint32_t>& numbers) {
  std::string bytes;
  for (const std::uint32_t number : numbers) {
    for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift & 0xFFU);
  }
  return bytes;
}

/// The error of a Marian folder whose source.spm has `more` appended: of a repeated field the last one counts.
std::string refusal_of_pieces(const std::string& more) {
  const TemporaryDirectory folder;
  for (const char* name : {"source.spm", "target.spm", "vocab.json"})
    std::filesystem::copy_file(kTokenizers / "marian" / name, folder.path() / name);
  const std::string file = (folder.path() / "source.spm").string();
  write_file_atomically(file, read_file(file) + more);
  const std::string message = error_message([&] { (void)Tokenizer::load(folder.path()).encode("Hello world"); });
  CHECK((message.empty() || message.starts_with(file + ": ")));
  return message.substr(std::min(message.size(), file.size() + 2));
}

/// Returns the message about a SentencePiece file with a map of characters: its trie and its replacements.
std::string refusal_of_map(const std::vector<std::uint32_t>& units, const std::string& replacements) {
  const auto bytes = static_cast<std::uint32_t>(4 * units.size());
  return refusal_of_pieces(field(3, field(2, little_endian({bytes}) + little_endian(units) + replacements)));
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("deep values stay out of the stages and out of the messages") {
    const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
    CHECK(refusal(with("\"decoder\":{\"type\":\"Fuse\",\"x\":" + deep + "}")) ==
          "tokenizer.json: JSON nested more than 64 deep");
    CHECK(refusal("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"<unk>\":" + deep + "}}}") ==
          "tokenizer.json: JSON nested more than 64 deep");
    CHECK(refusal("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"<unk>\":" + repeated("1", 0) + "[[1,2],[3]]}}}") ==
          "tokenizer.json: model.vocab.<unk> must be an id below 4194304, but is [[1,2],[3]]");
  }

  TEST_CASE("regular expressions that go backwards, split characters or nest without end are refused") {
    CHECK(refusal(split_by(R"((?(DEFINE)(?<k>ab\\K))(?=(?&k)))"), "ab ab").find(" has \\K, which") != std::string::npos);
    CHECK(refusal(split_by(R"((?=a\\K))"), "aaaa").find("\\K") != std::string::npos);
    CHECK(refusal(split_by(R"(\\C+)"), "\u00e9").find("\\C") != std::string::npos);
    CHECK(refusal(split_by("(*NO_JIT)a")).find("can't be compiled") != std::string::npos);
    const std::string deep = std::string(10'000, '[') + "a" + std::string(10'000, ']');
    CHECK(refusal(split_by(deep)).find("parse depth limit over") != std::string::npos);
    CHECK(refusal(split_by(std::string(400'000, 'a'))).find("a regular expression has 400000 bytes, more than 32768") !=
          std::string::npos);
    CHECK(is_one_line(refusal(split_by(std::string(20'000, '(')))));
    CHECK(refusal(split_by("[[a-c][x-z]]+")).empty());
    // Gives up instead of running on.
    CHECK(seconds_of([&] { (void)refusal(split_by("(a*)*b"), std::string(60, 'a')); }) < kMost_s);
    const std::string slow = refusal(split_by("((((a{1,1000}){1,1000}){1,1000}){1,1000})b"), std::string(3'000, 'a'));
    CHECK(slow.find("a regular expression of the tokenizer gave up on this text") != std::string::npos);
    CHECK(is_one_line(slow));
  }

  TEST_CASE("a match never ends before it begins") {
    for (const char* pattern : {"", "a*?", "(?=a)", "(?<=a)", "\\b", "$", "^"}) {
      CAPTURE(pattern);
      std::size_t end = 0;
      for (const text::ByteRange& match : Regex(pattern).find_all("aab a\u00e9\naa")) {
        CHECK(match.begin >= end);
        CHECK(match.end >= match.begin);
        end = match.end;
      }
    }
  }

  TEST_CASE("stages that double a text repeatedly are stopped") {
    const std::string doubling = R"({"type":"Replace","pattern":{"String":"a"},"content":"aa"})";
    const std::string normalizers = R"("normalizer":{"type":"Sequence","normalizers":[)" + repeated(doubling, 40) + "]}";
    CHECK(refusal(with(normalizers)).find("the tokenizer's stages make more than") == 0);
    CHECK(refusal(with(R"("normalizer":{"type":"Sequence","normalizers":[)" + repeated(doubling, 4) + "]}")).empty());
    const std::string token_string = R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":false})";
    CHECK(refusal(with(R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[)" + repeated(token_string, 40) + "]}"),
                  "\u00e9")
              .find("the tokenizer's stages make more than") == 0);
    const std::string huge = R"({"type":"Replace","pattern":{"String":"a"},"content":")" + std::string(50'000, 'b') + "\"}";
    CHECK(refusal(with("\"normalizer\":" + huge), std::string(10'000, 'a')).find("the tokenizer's stages make more than") ==
          0);
    CHECK(refusal(with(R"("normalizer":{"type":"Sequence","normalizers":[)" + repeated(R"({"type":"Lowercase"})", 100'000) +
                       "]}"))
              .find("has 100000 stages, more than 512") != std::string::npos);
  }

  TEST_CASE("decoders that double a text repeatedly are stopped") {
    const std::string doubling = R"({"type":"Replace","pattern":{"String":"h"},"content":"hh"})";
    const Tokenizer tokenizer =
        Tokenizer::parse(with(R"("decoder":{"type":"Sequence","decoders":[)" + repeated(doubling, 40) + "]}"));
    const std::vector<std::uint32_t> ids = {1, 1};
    CHECK(error_message([&] { (void)tokenizer.decode(ids); }).find("the tokenizer's decoders make more than") == 0);
  }

  TEST_CASE("a template of more tokens than any model has is refused") {
    std::string ids = "0";
    for (int id = 1; id < 20'000; ++id) ids += fmt::format(",{}", id % 2);
    const std::string special = R"({"SpecialToken":{"id":"x","type_id":0}})";
    const auto bomb = [&](const std::string& single, const std::string& some_ids) {
      return with(R"("post_processor":{"type":"TemplateProcessing","single":[)" + single +
                  R"(],"pair":[],"special_tokens":)" + R"({"x":{"id":"x","ids":[)" + some_ids + R"(],"tokens":[]}}})");
    };
    const std::string complaint = "tokenizer.json: post_processor.single puts more than 256 texts and tokens together";
    CHECK(refusal(bomb(repeated(special, 100), ids)) == complaint);
    CHECK(refusal(bomb(repeated(special, 300), "0")) == complaint);
    CHECK(refusal(bomb(repeated(special, 3), "0,1")).empty());
  }

  TEST_CASE("more extra ids than any model has are refused, and many added tokens are read in linear time") {
    const TemporaryDirectory folder;
    std::filesystem::copy_file(kTokenizers / "t5" / "spiece.model", folder.path() / "spiece.model");
    const auto notes = [&](const std::string& text) {
      write_file_atomically(folder.path() / "tokenizer_config.json", text);
      return error_message([&] { (void)Tokenizer::load(folder.path()); });
    };
    CHECK(notes(R"({"tokenizer_class":"T5Tokenizer","extra_ids":2147483647})").find("extra_ids is 2147483647, more than") !=
          std::string::npos);
    std::string added;
    for (int id = 0; id < 60'000; ++id) added += fmt::format(R"({}"{}":{{"content":"<x{}>"}})", id == 0 ? "" : ",", id, id);
    const double seconds = seconds_of(
        [&] { CHECK(notes(R"({"tokenizer_class":"T5Tokenizer","added_tokens_decoder":{)" + added + "}}").empty()); });
    CHECK(seconds < kMost_s);
  }

  TEST_CASE("white space that many tokens include is walked over once") {
    const std::string added =
        R"("added_tokens":[{"content":"\t","lstrip":true,"normalized":false},{"content":"hello","lstrip":true}])";
    const Tokenizer tokenizer = Tokenizer::parse(with(added));
    const double seconds =
        seconds_of([&] { (void)tokenizer.encode(std::string(200'000, ' ') + std::string(200'000, '\t')); });
    CHECK(seconds < kMost_s);
  }

  TEST_CASE("a GGUF vocabulary whose token strings aren't UTF-8 is refused by key and place") {
    for (const std::string broken : {"\xf0", "\xf0\x9f", "a\xe2\x96", "\x81", "\xc3\xa9\xff", "\xed\xa0\x80"}) {
      CHECK(refusal(llama({"<unk>", "a", broken, "b"})).find("tokenizer.ggml.tokens[2] isn't UTF-8") == 0);
      GgufVocabulary t5 = llama({"<unk>", "</s>", "a", broken});
      t5.model = "t5";
      t5.special.unknown = 0;
      CHECK(refusal(t5).find("tokenizer.ggml.tokens[3] isn't UTF-8") == 0);
      GgufVocabulary gpt2;
      gpt2.model = "gpt2";
      gpt2.pre_tokenizer = "default";
      gpt2.tokens = {"a", "aa"};
      gpt2.merges = {"a a", "a " + broken};
      CHECK(refusal(gpt2).find("tokenizer.ggml.merges[1] isn't UTF-8") == 0);
    }
    GgufVocabulary t5 = llama({"<unk>", "</s>", "a"});
    t5.model = "t5";
    t5.character_map = std::string("\4\0\0\0\0\0\0\0\xe2", 9);
    CHECK(refusal(t5).find("the precompiled map of characters isn't UTF-8") == 0);
  }

  TEST_CASE("token strings that take too long to split and scores without an order are refused") {
    CHECK(refusal(llama({"<unk>", "a", std::string(300'000, 'a')})) == "token 2 has 300000 bytes, more than 1024");
    GgufVocabulary file = llama({"<unk>", "a", "b"});
    file.scores[1] = std::numeric_limits<float>::quiet_NaN();
    CHECK(refusal(file) == "tokenizer.ggml.scores has a number that isn't finite");
  }

  TEST_CASE("vocabularies of lines say which line isn't UTF-8") {
    const TemporaryDirectory folder;
    const std::string file = (folder.path() / "vocab.txt").string();
    write_file_atomically(file, std::string_view("[PAD]\n[UNK]\n[CLS]\n[SEP]\ncaf\xe9\n"));
    CHECK(error_message([&] { (void)Tokenizer::load(folder.path()); }).find(file + ": line 5 isn't UTF-8 (byte 3)") == 0);
  }

  TEST_CASE("a map of characters that leads libsentencepiece out of its memory is refused") {
    constexpr std::uint32_t kLeaf = 1U << 8U;        // a key ends here; its replacement is at the node's own index
    constexpr std::uint32_t kToNext = 256U << 10U;   // to the node 256 units on, or back
    constexpr std::uint32_t kUnused = 0x8000'0000U;  // a label that no byte has
    const std::string damaged = "the precompiled map of characters is damaged: ";
    const std::string end(1, '\0');
    // "H" is replaced by "J": the root's child at 256 ^ 'H', whose own node is at 'H'.
    std::vector<std::uint32_t> units(512, kUnused);
    units[0] = kToNext;
    units[256 + 'H'] = 'H' | kLeaf | kToNext;
    CHECK(refusal_of_map(units, "J" + end).empty());

    std::vector<std::uint32_t> broken = units;
    broken['H'] = 0x7fff'fff0U | kUnused;
    CHECK(refusal_of_map(broken, "J" + end) == damaged + "a replacement is missing or too long");
    CHECK(refusal_of_map(units, std::string(1'000'000, 'J') + end) == damaged + "a replacement is missing or too long");
    CHECK(refusal_of_map(units, "J") == damaged + "its last replacement has no end");
    CHECK(refusal_of_map({}, "J" + end) == damaged + "it has no root");
    broken = units;
    broken[256 + 'H'] = 'H' | 0x200U | 0x1f'ffffU << 10U;
    CHECK(refusal_of_map(broken, "J" + end) == damaged + "a branch leads out of the trie");
    CHECK(refusal_of_map({kToNext}, "J" + end) == damaged + "a branch leads out of the trie");
    broken = units;
    broken[256 + 'H'] = 'H' | ('H' << 10U);  // from node 256 to node 256
    CHECK(refusal_of_map(broken, "J" + end) == damaged + "a branch goes in a circle");
    // Forty nodes of 256 units, each a key's end and the next one's beginning.
    std::vector<std::uint32_t> chain(std::size_t{41} * 256, kUnused);
    chain[0] = kToNext;
    for (std::uint32_t node = 1; node <= 40; ++node) {
      chain[256 * node] = kUnused;
      if (node < 40) chain[256 * node + 'H'] = 'H' | kLeaf | (((256 * node + 'H') ^ (256 * (node + 1))) << 10U);
    }
    CHECK(refusal_of_map(chain, "J" + end) == damaged + "too many keys begin one another");
  }

  TEST_CASE("pieces that libsentencepiece can't load, and bytes that it may read differently, are refused") {
    CHECK(refusal_of_pieces("").empty());
    CHECK(refusal_of_pieces(field(1, field(1, std::string("a\0b", 3)))) == "piece 711 is damaged: download the file again");
    const std::string no_model = "it is no SentencePiece model, or a damaged one: download the file again";
    CHECK(refusal_of_pieces("\x0b\x0c") == no_model);  // a group, which Headlight doesn't parse
    CHECK(refusal_of_pieces("\x9a\x80\x80\x80\x10" + std::string(1, '\0')) ==
          no_model);  // field 3 for a parser that drops bit 32
    CHECK(refusal_of_pieces(field(3, field(2, "abc"))) == "the precompiled map of characters is cut off: it has 3 bytes");
  }
}

}  // namespace hostile_tokenizer_test
