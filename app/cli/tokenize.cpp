#include "app/cli/subcommands.h"

#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/id_line.h"
#include "app/cli/text_lines.h"
#include "app/engine/prompt_lines.h"
#include "app/models/starter_view.h"
#include "app/state/usage.h"
#include "core/error.h"
#include "core/json.h"
#include "core/line_reader.h"
#include "inference/language_model.h"
#include "text/utf8_repair.h"
#include "text/word_vocabulary.h"

namespace headlight::app {
namespace {

constexpr const char* kText = "Text";

struct TextFlags {
  std::string model;
  std::vector<std::string> lines;                ///< given on the command line; none: standard input's
  bool is_target = false;                        ///< for an encoder-decoder's target
  bool adds_special = true;                      ///< tokenize
  bool skips_special = true;                     ///< detokenize
  bool writes_json = false;                      ///< detokenize
  std::optional<text::WordLanguage> words = {};  ///< tokenize: by the rules of a language
};

/// Calls `answer` for every given line, else for every line of standard input, and writes its result, immediately
/// when there is no more to read yet: another program may wait for it. Errors are reported with the line's number.
void answer_lines(const std::vector<std::string>& given, const std::function<std::string(const std::string& line)>& answer) {
  const auto write = [&](const std::string& line, std::size_t number) {
    std::string text;
    try {
      text = answer(line);
    } catch (const Error& error) {
      std::cout.flush();
      throw Error("line {}: {}", number, error.what());
    }
    write_line(text);
  };
  std::size_t number = 0;
  for (const std::string& line : given) write(line, ++number);
  if (given.empty()) {
    std::ios::sync_with_stdio(false);
    LineReader lines(kStandardInput, true);
    for (std::string line; lines.next(line);) {
      write(line, ++number);
      if (!lines.is_ready()) std::cout.flush();
    }
  }
  std::cout.flush();
}

text::Tokenizer open(const TextFlags& flags) {
  if (flags.model.empty()) throw UsageError("--model is missing: name a model's folder or .gguf file");
  return flags.is_target ? inference::open_target_tokenizer(flags.model) : inference::open_tokenizer(flags.model);
}

std::string tokens_json(const std::vector<text::Token>& tokens) {
  nlohmann::ordered_json ids = nlohmann::ordered_json::array(), texts = ids, offsets = ids;
  for (const text::Token& token : tokens) {
    ids.push_back(token.id);
    texts.push_back(token.text);
    offsets.push_back({token.bytes.begin, token.bytes.end});
  }
  const nlohmann::ordered_json line = {
      {"ids", std::move(ids)}, {"tokens", std::move(texts)}, {"offsets", std::move(offsets)}};
  return to_text(line, -1);
}

std::string words_json(const std::vector<text::VocabularyWord>& words) {
  nlohmann::ordered_json ids = nlohmann::ordered_json::array(), texts = ids, offsets = ids;
  for (const text::VocabularyWord& word : words) {
    ids.push_back(word.id);
    texts.push_back(word.text);
    offsets.push_back({word.bytes.begin, word.bytes.end});
  }
  return to_text(
      nlohmann::ordered_json{{"ids", std::move(ids)}, {"words", std::move(texts)}, {"offsets", std::move(offsets)}}, -1);
}

std::string words_json(const std::string& line, text::WordLanguage language) {
  const text::RepairedUtf8 repaired(line);
  nlohmann::ordered_json texts = nlohmann::ordered_json::array(), offsets = texts;
  for (const text::ByteRange& range : text::split_words(repaired.text(), language)) {
    texts.push_back(repaired.text().substr(range.begin, range.end - range.begin));
    const text::ByteRange typed = repaired.original(range);
    offsets.push_back({typed.begin, typed.end});
  }
  return to_text(nlohmann::ordered_json{{"words", std::move(texts)}, {"offsets", std::move(offsets)}}, -1);
}

/// With a model: the ids of the words in its vocabulary of whole words.
int run_words(const TextFlags& flags) {
  if (flags.model.empty()) {
    answer_lines(flags.lines, [&](const std::string& line) { return words_json(line, *flags.words); });
    return 0;
  }
  const auto vocabularies = text::read_word_vocabularies(flags.model);
  if (!vocabularies) throw Error("{}: the folder has no notebook_words.json with the words of its training", flags.model);
  const text::WordVocabulary& side =
      vocabularies->source.language() == *flags.words ? vocabularies->source : vocabularies->target;
  if (side.language() != *flags.words) throw Error("{}: neither of its word lists is of this language", flags.model);
  answer_lines(flags.lines, [&](const std::string& line) { return words_json(side.encode(line)); });
  return 0;
}

int run_tokenize(const TextFlags& flags) {
  if (flags.words) return run_words(flags);
  const text::Tokenizer tokenizer = open(flags);
  answer_lines(flags.lines,
               [&](const std::string& line) { return tokens_json(tokenizer.encode(line, flags.adds_special)); });
  return 0;
}

int run_detokenize(const TextFlags& flags) {
  const text::Tokenizer tokenizer = open(flags);
  answer_lines(flags.lines, [&](const std::string& line) {
    const std::vector<std::uint32_t> ids = parse_ids(line);
    for (const std::uint32_t id : ids) {
      if (id >= tokenizer.vocabulary_size()) {
        throw Error("id {} is not among the vocabulary's {}", id, tokenizer.vocabulary_size());
      }
    }
    const std::string text = tokenizer.decode(ids, flags.skips_special);
    if (!flags.writes_json) return on_one_line(text);
    return to_text(nlohmann::json(text), -1);
  });
  return 0;
}

void add_tokenizer_flag(CLI::App& app, TextFlags* flags) {
  add_flag(app, "--model", "PATH", fmt::format("a model: {}; needed", kModelNames), kText,
           [=](const std::string& text) { flags->model = named_model(text); });
  offer_model_names(app);
  add_plain_flag(app, "--target", "the tokenizer of what an encoder-decoder writes, where it has one of its own (Marian)",
                 kText, [=] { flags->is_target = true; });
}

}  // namespace

Subcommand add_tokenize_command(CLI::App& app) {
  CLI::App* command = add_subcommand(
      app, "tokenize",
      "Tokenize lines of text with a model's tokenizer\n\n"
      "Reads --text, else lines from standard input, and writes one JSON object for each: {\"ids\": [...], \"tokens\": "
      "[...],\n"
      "\"offsets\": [[first byte, byte after the last], ...]}. Tokens are the vocabulary's strings; offsets count "
      "bytes\n"
      "of the line, and are equal for tokens that cover none of it. Needs the tokenizer's files only, not the weights.\n"
      "With --words \"words\" in place of \"tokens\", and \"ids\" only with a model that has a list of whole words.");
  const auto flags = std::make_shared<TextFlags>();
  add_tokenizer_flag(*command, flags.get());
  add_repeatable_flag(*command, "--text", "TEXT",
                      "a line to tokenize; given several times several lines (default: standard input)", kText,
                      [flags = flags.get()](const std::vector<std::string>& texts) {
                        for (const std::string& text : texts) {
                          for (const LineRange line : line_ranges(text)) {
                            flags->lines.push_back(text.substr(line.begin, line.end - line.begin));
                          }
                        }
                      });
  add_flag(*command, "--words", "de|en",
           "whole words of this language, as spaCy's rules split them; with --model multi30k-de-en those of notebook 002, "
           "lower-cased, where <unk> is a word that its training text has less than twice",
           kText, [flags = flags.get()](const std::string& name) {
             flags->words = text::parse_word_language(name);
             if (!flags->words) throw UsageError(fmt::format("--words: expected de or en, found '{}'", name));
           });
  add_plain_flag(*command, "--no-special", "without the tokens that the model expects around a text ([CLS], <s>, ...)",
                 kText, [flags = flags.get()] { flags->adds_special = false; });
  set_footer(*command,
             "A line ends at its line feed, which belongs to no token. Broken UTF-8 counts as U+FFFD.\n\n"
             "Examples:\n"
             "  headlight tokenize --model captions-gpt2 --text \"the cat sat\"\n"
             "  headlight tokenize --words de --model multi30k-de-en --text \"Ein Hund im T-Shirt.\"\n"
             "  headlight tokenize --model openai-community/gpt2 --no-special < sentences.txt > tokens.jsonl");
  return {.app = command, .run = [flags] { return run_tokenize(*flags); }};
}

Subcommand add_detokenize_command(CLI::App& app) {
  CLI::App* command = add_subcommand(
      app, "detokenize",
      "Decode lines of token ids to text\n\n"
      "Reads --ids, else lines from standard input, each a JSON array of ids, a JSON object with \"ids\" (what tokenize "
      "writes), or\n"
      "numbers with spaces or commas between them, and writes one text a line. Special tokens are left out.");
  const auto flags = std::make_shared<TextFlags>();
  add_tokenizer_flag(*command, flags.get());
  add_repeatable_flag(*command, "--ids", "LIST",
                      "token ids as 464,3797; given several times several lines (default: standard input)", kText,
                      [flags = flags.get()](const std::vector<std::string>& lists) { flags->lines = lists; });
  add_plain_flag(*command, "--keep-special", "write special tokens ([CLS], <s>, ...) too", kText,
                 [flags = flags.get()] { flags->skips_special = false; });
  add_plain_flag(*command, "--json", "write each text as a JSON string, line breaks and all", kText,
                 [flags = flags.get()] { flags->writes_json = true; });
  set_footer(
      *command,
      "Line breaks inside a text are written as \\n and \\r, and nothing else is changed; --json tells them from a typed\n"
      "backslash. A line that lists no ids ends the command with its number, exit status 1.\n\n"
      "Examples:\n"
      "  headlight detokenize --model openai-community/gpt2 --ids 464,3797,3332\n"
      "  headlight tokenize --model gpt2-folder < sentences.txt | headlight detokenize --model gpt2-folder");
  return {.app = command, .run = [flags] { return run_detokenize(*flags); }};
}

}  // namespace headlight::app
