#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/file.h"
#include "core/line_reader.h"
#include "core/tensor.h"
#include "fuzz/readers.h"
#include "text/chat_template.h"
#include "text/regex.h"
#include "text/tokenizer.h"
#include "text/utf8_repair.h"
#include "text/word_vocabulary.h"

namespace headlight::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kTexts = {"The cat's 2 hats, na\u00efve caf\u00e9\n\tand \u4e2d\u6587 \U0001f600!",
                                                    "  aaaa aaaa\u2581b <0xE2> </s>\xff", ""};

void use(const text::Tokenizer& tokenizer) {
  std::vector<std::uint32_t> ids = {0, 1, 2, 3, 0xffffffff};
  for (const std::string_view text : kTexts) {
    expect_error_at_most([&] {
      for (const text::Token& token : tokenizer.encode(text)) {
        ids.push_back(token.id);
        if (token.bytes.end > text.size() || token.bytes.begin > token.bytes.end) __builtin_trap();
      }
    });
  }
  expect_error_at_most([&] { (void)tokenizer.encode_pair(kTexts[0], kTexts[1]); });
  expect_error_at_most([&] { (void)tokenizer.decode(ids); });
  expect_error_at_most([&] { (void)tokenizer.decode(ids, false); });
  for (const std::uint32_t id : ids) (void)tokenizer.label(id);
  (void)tokenizer.labels(ids);
}

void read_tokenizer(std::string_view bytes) {
  expect_error_at_most([&] { use(text::Tokenizer::parse(bytes)); });
}

/// A tokenizer class with its own numbering of SentencePiece pieces, chosen by the bytes.
void read_sentence_piece(std::string_view bytes) {
  static constexpr std::array<std::string_view, 12> kClasses = {
      "",
      "T5Tokenizer",
      "AlbertTokenizer",
      "GemmaTokenizer",
      "XLMRobertaTokenizer",
      "CamembertTokenizer",
      "MBartTokenizer",
      "MBart50Tokenizer",
      "PegasusTokenizer",
      "DebertaV2Tokenizer",
      "XGLMTokenizer",
      "NllbTokenizer",
  };
  std::size_t sum = 0;
  for (const char byte : bytes) sum += static_cast<unsigned char>(byte);
  const fs::path folder = empty_folder("pieces");
  write_scratch("pieces/spiece.model", bytes);
  write_scratch("pieces/tokenizer_config.json",
                "{\"tokenizer_class\":\"" + std::string(kClasses[sum % kClasses.size()]) + "\"}");
  expect_error_at_most([&] { use(text::Tokenizer::load(folder)); });
}

/// A folder of small files.
void read_folder(std::string_view bytes) {
  static constexpr std::array<std::string_view, 15> kNames = {"vocab.txt",
                                                              "vocab.json",
                                                              "merges.txt",
                                                              "tokenizer_config.json",
                                                              "special_tokens_map.json",
                                                              "source.spm",
                                                              "spiece.model",
                                                              "config.json",
                                                              "target.spm",
                                                              "tokenizer.json",
                                                              "tekken.json",
                                                              "qwen.tiktoken",
                                                              "added_tokens.json",
                                                              "tokenizer.model",
                                                              "sentencepiece.bpe.model"};
  const fs::path folder = empty_folder("folder");
  bool has_target = false;
  for_each_file(bytes, [&](std::string_view name, std::string_view content) {
    if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) return;
    write_scratch("folder/" + std::string(name), content);
    has_target = has_target || name == "target.spm";
  });
  expect_error_at_most([&] { use(text::Tokenizer::load(folder)); });
  if (has_target) expect_error_at_most([&] { use(text::Tokenizer::load_target(folder)); });
}

/// A chat template, then, after a line "%%% chat", a chat; without one a usual chat.
void read_chat(std::string_view bytes) {
  constexpr std::string_view kMark = "%%% chat\n";
  const std::size_t end = std::min(bytes.find(kMark), bytes.size());
  const std::string_view chat = end < bytes.size()
                                    ? bytes.substr(end + kMark.size())
                                    : "system: Be brief.\nuser: na\u00efve \u4e2d\nassistant: <think>a</think> b\nuser: c";
  expect_error_at_most([&] {
    const text::ChatTemplate parsed(bytes.substr(0, end), {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
    for (const text::Thinking thinking : {text::Thinking::Unset, text::Thinking::Off})
      expect_error_at_most([&] { (void)parsed.render(chat, thinking); });
    expect_error_at_most([&] { (void)parsed.render(text::ChatTemplate::with_answer(chat, " more"), text::Thinking::On); });
  });
}

/// Parses a vocabulary from bytes: a kind, some flags, then texts, each after a byte with its list and its length.
void read_vocabulary(std::string_view bytes) {
  static constexpr std::array<std::string_view, 4> kKinds = {"gpt2", "llama", "bert", "t5"};
  static constexpr std::array<std::string_view, 4> kWords = {"default", "llama-bpe", "qwen2", "falcon"};
  const auto next = [&]() -> std::uint8_t {
    if (bytes.empty()) return 0;
    const auto byte = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    return byte;
  };
  text::GgufVocabulary file;
  const std::uint8_t kind = next();
  const std::uint8_t switches = next();
  file.model = kKinds[kind % 4];
  file.pre_tokenizer = kWords[kind / 4 % 4];
  while (!bytes.empty()) {
    const std::uint8_t head = next();
    const std::string text(bytes.substr(0, head / 4));
    bytes.remove_prefix(text.size());
    if (head % 4 == 0) {
      file.merges.push_back(text);
    } else if (head % 4 == 1) {
      file.character_map += text;
    } else {
      file.tokens.push_back(text);
      file.token_types.push_back(head % 4 == 2 ? 1 : next() % 8);
      file.scores.push_back(static_cast<float>(static_cast<std::int8_t>(next())));
    }
  }
  if ((switches & 1U) != 0) {
    file.special.beginning = 0;
    file.special.end = 1;
    file.special.unknown = 2;
  }
  if ((switches & 2U) != 0) file.adds_beginning = file.adds_end = true;
  if ((switches & 4U) != 0) file.adds_space_prefix = false;
  if ((switches & 8U) != 0) file.special.unknown = 200;
  expect_error_at_most([&] { use(text::Tokenizer::from_gguf(file)); });
}

void read_regex(std::string_view bytes) {
  expect_error_at_most([&] {
    const text::Regex regex(bytes);
    for (const std::string_view text : {kTexts[0], std::string_view("aaaaaaaaaaaaaaaaaaaa  b"), std::string_view()}) {
      std::uint32_t end = 0;
      for (const text::ByteRange& match : regex.find_all(text)) {
        if (match.begin < end || match.end < match.begin || match.end > text.size()) __builtin_trap();
        end = match.end;
      }
    }
  });
}

/// Lines, JSON lines and what gzip compressed.
void read_lines(std::string_view bytes) {
  const bool is_packed = bytes.starts_with("\x1F\x8B");
  for (const char* name : {"lines.txt", "lines.jsonl"}) {
    const fs::path path = write_scratch(is_packed ? std::string(name) + ".gz" : name, bytes);
    expect_error_at_most([&] { (void)read_texts(path, kLargestFile); });
    expect_error_at_most([&] { (void)read_text_file(path, kLargestFile); });
  }
}

/// An accepted text's numbers fill its shape.
void read_tensor(std::string_view bytes) {
  const Result<Tensor> tensor = read_tensor_text(bytes);
  if (!tensor) return expect_printable(tensor.error());
  if (tensor->values.size() != element_count(tensor->shape)) __builtin_trap();
  for (const float value : tensor->values) {
    if (!std::isfinite(value)) __builtin_trap();
  }
}

/// Reads the bytes as the list of a translator, and as a text: words never overlap, and leave out nothing but single
/// spaces.
void read_words(std::string_view bytes) {
  const fs::path folder = empty_folder("words");
  write_scratch("words/notebook_words.json", bytes);
  expect_error_at_most([&] { (void)text::read_word_vocabularies(folder)->source.encode(kTexts[0]); });
  const text::RepairedUtf8 repaired(bytes);
  for (const text::WordLanguage language : {text::WordLanguage::German, text::WordLanguage::English}) {
    std::uint32_t at = 0;
    for (const text::ByteRange& word : text::split_words(repaired.text(), language)) {
      if (word.end <= word.begin || word.begin < at || word.begin > at + 1) __builtin_trap();
      at = word.end;
    }
  }
}

constexpr std::array kTextReaders{Reader{"tokenizer", read_tokenizer},
                                  Reader{"sentencepiece", read_sentence_piece},
                                  Reader{"folder", read_folder},
                                  Reader{"vocabulary", read_vocabulary},
                                  Reader{"regex", read_regex},
                                  Reader{"lines", read_lines},
                                  Reader{"tensor", read_tensor},
                                  Reader{"words", read_words},
                                  Reader{"chat", read_chat}};

}  // namespace

std::span<const Reader> text_readers() { return kTextReaders; }

}  // namespace headlight::fuzz
