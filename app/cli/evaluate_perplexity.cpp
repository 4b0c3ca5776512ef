#include "app/cli/subcommands.h"

#include <memory>

#include <nlohmann/json.hpp>

#include "app/cli/evaluation_flags.h"
#include "app/cli/output.h"
#include "app/models/starter_view.h"
#include "app/state/usage.h"
#include "evaluation/perplexity.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;
using evaluation::Likelihood;
using Lines = std::vector<std::string>;

struct PerplexityFlags {
  EvaluationFlags common;
  std::string text, source, target;
};

struct Texts {
  Lines sources;  ///< empty for a model with one stack
  Lines texts;
};

Texts read_texts(const PerplexityFlags& flags, bool is_encoder_decoder) {
  const bool names_files = !flags.text.empty() || !flags.source.empty();
  if (!is_encoder_decoder) {
    return {.sources = {},
            .texts = flags.common.texts_of(names_files ? fs::path(flags.text)
                                                       : flags.common.multi30k("test_2016_flickr.en", "--text-file"))};
  }
  const auto file_of = [&](const std::string& given, const char* text) {
    return names_files ? fs::path(given) : flags.common.multi30k(text, "--source and --target");
  };
  const fs::path source_file = file_of(flags.source, "val.de"), target_file = file_of(flags.target, "val.en");
  Texts texts{.sources = flags.common.texts_of(source_file), .texts = flags.common.texts_of(target_file)};
  check_same_count(source_file, texts.sources.size(), target_file, texts.texts.size());
  return texts;
}

void refuse_contradictions(const PerplexityFlags& flags) {
  const bool has_pair = !flags.source.empty() || !flags.target.empty();
  if (has_pair && !flags.text.empty()) {
    throw UsageError("--text-file and {} exclude each other", flags.source.empty() ? "--target" : "--source");
  }
  if (has_pair && flags.target.empty()) throw UsageError("--target is missing: name the translations of --source");
  if (has_pair && flags.source.empty()) throw UsageError("--source is missing: name what --target translates");
}

std::string likelihood_text(const Likelihood& found) {
  return fmt::format(
      "perplexity {:.3f} per word, {:.3f} per token; {:.4f} bits per byte ({:.1f} nats, {} words, {} tokens, {} "
      "bytes, {} lines)",
      found.perplexity_per_word(), found.perplexity_per_token(), found.bits_per_byte(), found.nats, found.words,
      found.tokens, found.bytes, found.lines);
}

nlohmann::ordered_json likelihood_json(const Likelihood& found) {
  return {{"perplexity_per_word", found.perplexity_per_word()},
          {"perplexity_per_token", found.perplexity_per_token()},
          {"bits_per_byte", found.bits_per_byte()},
          {"nats", found.nats},
          {"words", found.words},
          {"tokens", found.tokens},
          {"bytes", found.bytes},
          {"lines", found.lines}};
}

int run_perplexity(const PerplexityFlags& flags) {
  refuse_contradictions(flags);
  const auto model = flags.common.open_model(flags.text.empty() ? kTranslator : kCaptionWriter);
  const bool is_encoder_decoder = model->description.is_encoder_decoder;
  if (is_encoder_decoder && !flags.text.empty()) {
    throw UsageError("--text-file: {} needs a source for each text: give --source and --target", model->description.family);
  }
  if (!is_encoder_decoder && !flags.source.empty()) {
    throw UsageError("--source: {} translates nothing: give --text-file", model->description.family);
  }
  evaluation::check_predicts_text(*model);
  const Texts texts = read_texts(flags, is_encoder_decoder);
  const std::unique_ptr<GpuRunner> runner = flags.common.open_runner(*model);
  const Likelihood found = [&] {
    ProgressBar bar("lines");
    return evaluation::likelihood(runner->session(), *model, texts.sources, texts.texts,
                                  [&](std::size_t done, std::size_t total) { bar.show(done, total); });
  }();
  tell_answer(likelihood_text(found), likelihood_json(found));
  return 0;
}

}  // namespace

Subcommand add_evaluate_perplexity_command(CLI::App& evaluate) {
  const auto [command, flags, made] = begin_subcommand(evaluate, "perplexity", run_perplexity);
  const FlagGroup text(*command, "Text");
  text.take("--text-file", "FILE", "texts, one a line, for a model that writes on", flags->text);
  text.take("--source", "FILE", "what an encoder-decoder reads, a sentence a line", flags->source);
  text.take("--target", "FILE", "what it should write, line by line", flags->target);
  flags->common.add_data_to(*command);
  flags->common.add_to(*command, fmt::format("{} for --text-file, else {}", kCaptionWriter, kTranslator));
  return made;
}

}  // namespace headlight::app
