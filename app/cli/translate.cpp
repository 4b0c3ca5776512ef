#include "app/cli/subcommands.h"

#include <iostream>

#include "app/cli/output.h"
#include "app/cli/text_lines.h"
#include "app/cli/writing_flags.h"
#include "app/models/starter_view.h"
#include "app/state/usage.h"

namespace headlight::app {
namespace {

bool is_blank(const std::string& line) { return line.find_first_not_of(" \t\v\f") == std::string::npos; }

/// Returns the translation's text; byte-level tokens include the space before their word, also the first one.
std::string translation_text(const text::Tokenizer& tokenizer, const std::vector<std::uint32_t>& ids) {
  std::string text = tokenizer.decode(ids);
  if (text.starts_with(' ')) text.erase(0, 1);
  return text;
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
    const std::vector<std::uint32_t> ids = is_blank(line) ? std::vector<std::uint32_t>() : (next++)->ids;
    const std::string written = is_blank(line) ? "" : translation_text(*writer.model().predicted_tokenizer(), ids);
    if (output_choice().writes_json) {
      write_json({{"text", line}, {"translation", written}, {"ids", ids}});
    } else {
      write_line(on_one_line(written));
    }
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
  const auto [command, flags, made] = begin_subcommand(app, "translate", run_translate);
  flags->add_to(*command, kTranslator, "the text to translate");
  return made;
}

}  // namespace headlight::app
