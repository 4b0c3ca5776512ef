#include "app/cli/subcommands.h"

#include <iostream>
#include <optional>

#include "app/cli/output.h"
#include "app/cli/text_lines.h"
#include "app/cli/writing_flags.h"
#include "app/engine/continuation.h"
#include "app/models/starter_view.h"
#include "app/state/usage.h"

namespace headlight::app {
namespace {

constexpr std::uint64_t kMaxSamples = 100'000;

using Ids = std::vector<std::uint32_t>;

struct GenerateFlags {
  WritingFlags writing;
  bool is_chat = false;
  text::Thinking thinking = text::Thinking::Unset;
  float temperature = 0.8f;  ///< 0: the likeliest token each time
  std::uint32_t samples = 1;
};

/// Prints a text on a terminal while it is generated.
class GrowingLine {
 public:
  void show(const std::string& text) {
    if (!text.starts_with(shown_)) return;
    std::cout << text.substr(shown_.size()) << std::flush;
    shown_ = text;
  }

 private:
  std::string shown_;
};

class Generator {
 public:
  explicit Generator(const GenerateFlags& flags) : flags_(flags), writer_(flags.writing, kCaptionWriter) {
    const model::ModelDescription& description = writer_.model().description;
    if (description.is_encoder_decoder) {
      throw UsageError("--model: {} ({}) translates texts and continues none: use headlight translate", description.name,
                       description.family);
    }
  }

  /// Throws Error for a line that the model can't continue.
  void check(const std::string& line) const { inference::make_prompt(writer_.model(), {.lines = {}, .ids = {ids(line)}}); }

  void answer(const std::vector<std::string>& lines, std::size_t first) {
    inference::PromptText text;
    for (const std::string& line : lines) {
      const Ids of_line = ids(line);
      for (std::uint32_t sample = 0; sample < flags_.samples; ++sample) text.ids.push_back(of_line);
    }
    inference::DecodingSettings settings = flags_.writing.decoding;
    settings.sampling.seed += first * flags_.samples;
    const auto text_of = [&](std::size_t item, const inference::Decoded& decoded) {
      return whole_text(flags_.is_chat ? "" : lines[item / flags_.samples], text.ids[item], decoded.ids);
    };
    const bool is_json = output_choice().writes_json;
    const bool grows = text.ids.size() == 1 && platform::is_terminal(platform::kStandardOutput) && !is_json;
    GrowingLine growing;
    const auto show = [&](const inference::DecodingProgress& progress) {
      const std::string whole = on_one_line(text_of(0, progress.lines.front()));
      if (!ends_inside_character(whole)) growing.show(whole);
      return true;
    };
    if (grows && !flags_.is_chat) growing.show(on_one_line(lines.front()));
    const std::vector<inference::Decoded> decoded =
        writer_.write(text, settings, grows ? inference::DecodingObserver(show) : inference::DecodingObserver());
    for (std::size_t item = 0; item < decoded.size(); ++item) {
      const std::string whole = text_of(item, decoded[item]);
      if (grows) growing.show(on_one_line(whole));
      if (is_json) {
        write_json({{"text", lines[item / flags_.samples]}, {"written", whole}, {"ids", decoded[item].ids}});
      } else {
        write_line(grows ? "" : on_one_line(whole));
      }
    }
    std::cout.flush();
    for (std::size_t item = 0; item < decoded.size(); ++item) {
      std::string name = line_name(first + item / flags_.samples);
      if (flags_.samples > 1) name += fmt::format("-sample-{}", item % flags_.samples + 1);
      Ids whole = text.ids[item];
      whole.insert(whole.end(), decoded[item].ids.begin(), decoded[item].ids.end());
      writer_.write_attention(name, lines[item / flags_.samples], whole, {});
    }
  }

 private:
  /// Returns the ids of a line; an empty line is the token that texts begin with.
  Ids ids(const std::string& line) const {
    Ids ids;
    const auto tokens =
        flags_.is_chat ? inference::chat_template(writer_.model()).encode(writer_.tokenizer(), line, flags_.thinking).tokens
                       : writer_.tokenizer().encode(line);
    for (const text::Token& token : tokens) ids.push_back(token.id);
    if (!ids.empty()) return ids;
    std::optional<std::uint32_t> begin = writer_.model().description.ids.bos;
    if (!begin) begin = writer_.tokenizer().special().beginning;
    if (!begin) throw Error("{} names no token that begins a text: give a beginning", writer_.model().description.name);
    return {*begin};
  }

  std::string whole_text(const std::string& line, const Ids& before, const Ids& written) const {
    std::string more = continuation_text(writer_.tokenizer(), before, written);
    // Byte-level tokens include the space before their word, also the first one.
    if (line.empty() && more.starts_with(' ')) more.erase(0, 1);
    return line + more;
  }

  const GenerateFlags& flags_;
  Writer writer_;
};

int run_generate(GenerateFlags& flags) {
  inference::SamplingSettings& sampling = flags.writing.decoding.sampling;
  const bool is_greedy = flags.temperature == 0.0f;
  if (is_greedy && flags.samples > 1) {
    throw UsageError("--samples: at --temperature 0 all of them are the same; give a temperature above 0");
  }
  sampling.method = is_greedy ? inference::SamplingMethod::Greedy : inference::SamplingMethod::Random;
  if (!is_greedy) sampling.temperature = flags.temperature;
  Generator generator(flags);
  TextLines lines(flags.writing.texts, !flags.writing.has_text);
  answer_in_batches(
      lines, kBatchesInView * flags.writing.decoding.items_at_once, [&](const std::string& line) { generator.check(line); },
      [&](const std::vector<std::string>& some, std::size_t first) { generator.answer(some, first); });
  if (lines.had_none() && !lines.is_interactive()) generator.answer({""}, 0);
  return 0;
}

void add_sampling_flags(CLI::App& app, GenerateFlags& flags) {
  inference::SamplingSettings& sampling = flags.writing.decoding.sampling;
  const FlagGroup group(app, "Sampling");
  group.take_number("--temperature", "T",
                    "logits are divided by it, 0 to 10; 0 takes the likeliest token each time (default 0.8)",
                    flags.temperature, 0.0f, kMaxTemperature);
  group.take_count("--top-k", "K", "only among the K likeliest tokens (default 0: all)", sampling.top_k, 0, kMaxTopK);
  group.take_number("--top-p", "P", "only among the likeliest tokens that together reach the probability P (default 1)",
                    sampling.top_p, 0.0f, 1.0f);
  group.take_count("--seed", "N",
                   "the same seed writes the same texts; line and sample N draw from the seed + N (default 1)",
                   sampling.seed, 0, 0xffff'ffff'ffff'ffffULL);
  group.take_count("--samples", "N", "texts to write for each line (default 1)", flags.samples, 1, kMaxSamples);
}

}  // namespace

Subcommand add_generate_command(CLI::App& app) {
  const auto [command, flags, made] = begin_subcommand(app, "generate", run_generate);
  flags->writing.add_to(*command, kCaptionWriter, "the beginning of a text");
  const FlagGroup text(*command, "Text");
  text.turn(
      "--chat",
      "texts are chats: lines 'system: ...', 'user: ...', 'assistant: ...' begin turns, anything else is the user's; the "
      "answer alone is printed",
      flags->is_chat);
  add_thinking_flag(text, flags->thinking);
  add_sampling_flags(*command, *flags);
  return made;
}

}  // namespace headlight::app
