#include "app/cli/subcommands.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>

#include "app/cli/text_lines.h"
#include "app/cli/writing_flags.h"
#include "app/models/starter_view.h"
#include "app/state/usage.h"

namespace headlight::app {
namespace {

bool is_blank(const std::string& line) { return line.find_first_not_of(" \t\v\f") == std::string::npos; }

/// Byte-level tokens include the space before their word, also the first one.
std::string translation_text(const text::Tokenizer& tokenizer, const std::vector<std::uint32_t>& ids) {
  std::string text = tokenizer.decode(ids);
  if (text.starts_with(' ')) text.erase(0, 1);
  return on_one_line(text);
}

/// Translates some lines and writes the translations in their order.
void translate(Writer& writer, const WritingFlags& flags, const std::vector<std::string>& lines, std::size_t first) {
  inference::PromptText text;
  for (const std::string& line : lines) {
    if (!is_blank(line)) text.lines.push_back(line);
  }
  std::vector<inference::Decoded> decoded;
  if (!text.lines.empty()) decoded = writer.write(text, flags.decoding);
  auto next = decoded.begin();
  for (const std::string& line : lines) {
    write_line(is_blank(line) ? "" : translation_text(*writer.model().predicted_tokenizer(), (next++)->ids));
  }
  std::cout.flush();
  if (flags.attention.empty()) return;
  next = decoded.begin();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_blank(lines[i])) continue;
    const inference::Prompt prompt = inference::make_prompt(writer.model(), {.lines = {lines[i]}});
    std::vector<std::uint32_t> target = {prompt.target_tokens.front().front().id};
    target.insert(target.end(), next->ids.begin(), next->ids.end());
    writer.write_attention(line_name(first + i), lines[i], {}, target);
    ++next;
  }
}

int run_translate(const WritingFlags& flags) {
  Writer writer(flags, kTranslator);
  const model::ModelDescription& description = writer.model().description;
  if (!description.is_encoder_decoder) {
    throw UsageError("--model: {} ({}) continues texts and translates none: use headlight generate", description.name,
                     description.family);
  }
  TextLines lines(flags.texts, !flags.has_text);
  answer_in_batches(
      lines, kBatchesInView * flags.decoding.items_at_once,
      [&](const std::string& line) {
        if (!is_blank(line)) inference::make_prompt(writer.model(), {.lines = {line}});
      },
      [&](const std::vector<std::string>& some, std::size_t first) { translate(writer, flags, some, first); });
  return 0;
}

}  // namespace

Subcommand add_translate_command(CLI::App& app) {
  CLI::App* command = add_subcommand(
      app, "translate",
      "Translate lines of text\n\n"
      "Reads lines and writes a translation for each, in their order, by an encoder-decoder: the likeliest token each\n"
      "time (greedy decoding). Typed lines are answered one by one, those of a file or pipe in batches of similar length.\n"
      "An empty line stays empty.");
  const auto flags = std::make_shared<WritingFlags>();
  flags->add_to(*command, kTranslator, "the line to translate");
  set_footer(
      *command,
      "--attention DIR writes for line 1 of the input, in DIR/line-0001, of the finished translation:\n"
      "  encoder_weights.npy    [layer, 1, head, query, key]   float32, as `headlight export --stages weights` writes them\n"
      "  decoder_weights.npy    [layer, 1, head, query, key]\n"
      "  cross_weights.npy      [layer, 1, head, query, key]   target tokens are queries, source tokens keys\n"
      "  run.json               tokens, masks and settings\n"
      "  cross_layer-NN_heads.png                               all heads of a layer's cross-attention\n"
      "  alignment.png          mean of the last layer's heads, with the tokens\n"
      "  alignment.json         for each token of the target the source token that this mean weighs most, read in the row\n"
      "                         that predicted it; special tokens don't count\n"
      "A line that the model has no positions for, or that isn't UTF-8, ends the command with its number, exit status 1.\n\n"
      "Examples:\n"
      "  headlight translate --text \"ein hund rennt durch den schnee .\"\n"
      "  headlight translate < sentences.de > sentences.en\n"
      "  headlight translate --model Helsinki-NLP/opus-mt-de-en --attention maps < sentences.de");
  return {.app = command, .run = [flags] { return run_translate(*flags); }};
}

}  // namespace headlight::app
