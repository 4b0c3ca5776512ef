#include "app/cli/subcommands.h"

#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/output.h"
#include "app/cli/text_lines.h"
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

struct TextFlags {
  std::string model;
  std::vector<std::string> lines;  ///< given on the command line; none: standard input's
  bool is_target = false;          ///< for an encoder-decoder's target
  bool adds_special = true;        ///< tokenize
  bool is_chat = false;            ///< tokenize: as the model's template writes it
  text::Thinking thinking = text::Thinking::Unset;
  bool skips_special = true;                     ///< detokenize
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

/// Returns a line's tokens as JSON. `name`: the key of the texts of tokens or words.
template <typename Tokens>
std::string tokens_json(const char* name, const Tokens& tokens) {
  nlohmann::ordered_json ids = nlohmann::ordered_json::array(), texts = ids, offsets = ids;
  for (const auto& token : tokens) {
    ids.push_back(token.id);
    texts.push_back(token.text);
    offsets.push_back({token.bytes.begin, token.bytes.end});
  }
  return json_line({{"ids", std::move(ids)}, {name, std::move(texts)}, {"offsets", std::move(offsets)}});
}

std::string words_json(const std::string& line, text::WordLanguage language) {
  const text::RepairedUtf8 repaired(line);
  nlohmann::ordered_json texts = nlohmann::ordered_json::array(), offsets = texts;
  for (const text::ByteRange& range : text::split_words(repaired.text(), language)) {
    texts.push_back(repaired.text().substr(range.begin, range.end - range.begin));
    const text::ByteRange typed = repaired.original(range);
    offsets.push_back({typed.begin, typed.end});
  }
  return json_line({{"words", std::move(texts)}, {"offsets", std::move(offsets)}});
}

/// Writes the words, or with a model the ids of the words in its vocabulary of whole words.
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
  answer_lines(flags.lines, [&](const std::string& line) { return tokens_json("words", side.encode(line)); });
  return 0;
}

int run_tokenize(const TextFlags& flags) {
  if (flags.words) return run_words(flags);
  const text::Tokenizer tokenizer = open(flags);
  std::shared_ptr<const text::ChatTemplate> chat;
  if (flags.is_chat) {
    chat = inference::open_chat_template(inference::find_model(flags.model), tokenizer);
    if (!chat) throw Error("{} has no chat template: leave --chat out", flags.model);
    if (const std::string note = chat->note_of_marks(tokenizer); !note.empty()) tell_note(note);
  }
  answer_lines(flags.lines, [&](const std::string& line) {
    return tokens_json(
        "tokens", chat ? chat->encode(tokenizer, line, flags.thinking).tokens : tokenizer.encode(line, flags.adds_special));
  });
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
    if (!output_choice().writes_json) return on_one_line(text);
    return to_text(nlohmann::json(text), -1);
  });
  return 0;
}

void add_tokenizer_flag(const FlagGroup& group, TextFlags& flags) {
  add_model_flag(group, "a model", "; needed", flags.model);
  group.turn("--target", "the tokenizer of what an encoder-decoder writes, where it has one of its own (Marian)",
             flags.is_target);
}

}  // namespace

Subcommand add_tokenize_command(CLI::App& app) {
  const auto [command, flags, made] = begin_subcommand(app, "tokenize", run_tokenize);
  const FlagGroup group(*command, "Text");
  add_tokenizer_flag(group, *flags);
  add_texts_flags(group, "a text to tokenize",
                  [flags = flags](const std::vector<std::string>& texts) { flags->lines = texts; });
  group.add("--words", "de|en",
            "whole words of this language, as spaCy's rules split them; with --model multi30k-de-en those of notebook 002, "
            "lower-cased, where <unk> is a word that its training text has less than twice",
            [flags = flags](const std::string& name) {
              flags->words = text::parse_word_language(name);
              if (!flags->words) throw UsageError(fmt::format("--words: expected de or en, found '{}'", name));
            });
  group.turn("--no-special", "without the tokens that the model expects around a text ([CLS], <s>, ...)",
             flags->adds_special, false);
  group.turn("--chat",
             "texts are chats, which the model's template writes: each is the user's turn, or JSON, a list of messages",
             flags->is_chat);
  add_thinking_flag(group, flags->thinking);
  return made;
}

Subcommand add_detokenize_command(CLI::App& app) {
  const auto [command, flags, made] = begin_subcommand(app, "detokenize", run_detokenize);
  const FlagGroup group(*command, "Text");
  add_tokenizer_flag(group, *flags);
  group.add_repeatable("--ids", "LIST", "token ids as 464,3797; given several times several lines (default: standard input)",
                       [flags = flags](const std::vector<std::string>& lists) { flags->lines = lists; });
  group.turn("--keep-special", "write special tokens ([CLS], <s>, ...) too", flags->skips_special, false);
  return made;
}

}  // namespace headlight::app
