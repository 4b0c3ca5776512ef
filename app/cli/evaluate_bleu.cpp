#include "app/cli/subcommands.h"

#include <memory>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/evaluation_flags.h"
#include "app/cli/output.h"
#include "app/models/starter_view.h"
#include "app/state/usage.h"
#include "evaluation/bleu.h"
#include "evaluation/perplexity.h"
#include "inference/decoding.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;
using evaluation::Bleu;
using Lines = std::vector<std::string>;

struct BleuFlags {
  EvaluationFlags common;
  std::string source, reference, hypothesis;
};

std::vector<Lines> in_words(const Lines& lines) {
  std::vector<Lines> words;
  for (const std::string& line : lines) words.push_back(evaluation::words_of(line));
  return words;
}

Lines translate(const EvaluationFlags& flags, const Lines& sources) {
  const auto model = flags.open_model(kTranslator);
  if (!model->description.is_encoder_decoder) {
    throw Error("{} translates nothing: BLEU needs an encoder-decoder", model->description.family);
  }
  if (!model->tokenizer) throw Error("{}; texts can't be translated without it", model->tokenizer_problem);
  const std::unique_ptr<GpuRunner> runner = flags.open_runner(*model);
  ProgressBar bar("sentences");
  bar.show(0, sources.size());
  inference::PromptText text;
  text.lines = sources;
  const auto decoded = inference::decode(runner->session(), *model, text, {}, [&](const auto& progress) {
    bar.show(progress.done, sources.size());
    return true;
  });
  Lines translations;
  for (const inference::Decoded& line : decoded) translations.push_back(model->predicted_tokenizer()->decode(line.ids));
  return translations;
}

std::string bleu_text(const Bleu& bleu, std::size_t sentences) {
  return fmt::format(
      "BLEU {:.2f} (1- to 4-grams {:.1f} {:.1f} {:.1f} {:.1f}, brevity penalty {:.3f}, {} sentences, {} words "
      "for {})",
      bleu.score, 100.0 * bleu.precision[0], 100.0 * bleu.precision[1], 100.0 * bleu.precision[2], 100.0 * bleu.precision[3],
      bleu.brevity_penalty, sentences, bleu.hypothesis_words, bleu.reference_words);
}

nlohmann::ordered_json bleu_json(const Bleu& bleu, std::size_t sentences) {
  return {{"bleu", bleu.score},
          {"precisions", bleu.precision},
          {"brevity_penalty", bleu.brevity_penalty},
          {"sentences", sentences},
          {"hypothesis_words", bleu.hypothesis_words},
          {"reference_words", bleu.reference_words}};
}

int run_bleu(const BleuFlags& flags) {
  const bool names_files = !flags.source.empty() || !flags.reference.empty() || !flags.hypothesis.empty();
  if (names_files && flags.reference.empty()) throw UsageError("--reference is missing: name the file to compare with");
  if (names_files && flags.source.empty() && flags.hypothesis.empty()) {
    throw UsageError("--source is missing: name the file to translate, or --hypothesis for what is translated already");
  }
  if (!flags.hypothesis.empty() && !flags.common.model.empty()) {
    throw UsageError("--model and --hypothesis exclude each other: what is translated already needs no model");
  }
  const auto file_of = [&](const std::string& given, const char* text) {
    return names_files ? fs::path(given) : flags.common.multi30k(text, "--source and --reference");
  };
  const fs::path reference_file = file_of(flags.reference, "test_2016_flickr.en");
  const Lines references = flags.common.texts_of(reference_file);
  Lines hypotheses;
  if (!flags.source.empty() || !names_files) {
    const fs::path source_file = file_of(flags.source, "test_2016_flickr.de");
    const Lines sources = flags.common.texts_of(source_file);
    check_same_count(source_file, sources.size(), reference_file, references.size());
    if (flags.hypothesis.empty()) hypotheses = translate(flags.common, sources);
  }
  if (!flags.hypothesis.empty()) {
    hypotheses = flags.common.texts_of(flags.hypothesis);
    check_same_count(flags.hypothesis, hypotheses.size(), reference_file, references.size());
  }
  const Bleu bleu = evaluation::corpus_bleu(in_words(hypotheses), in_words(references));
  tell_answer(bleu_text(bleu, references.size()), bleu_json(bleu, references.size()));
  return 0;
}

}  // namespace

Subcommand add_evaluate_bleu_command(CLI::App& evaluate) {
  const auto [command, flags, made] = begin_subcommand(evaluate, "bleu", run_bleu);
  const FlagGroup text(*command, "Text");
  text.take("--source", "FILE", "what to translate, a sentence a line", flags->source);
  text.take("--reference", "FILE", "human translations, line by line", flags->reference);
  text.take("--hypothesis", "FILE", "translations that are there already: no model is run", flags->hypothesis);
  flags->common.add_data_to(*command);
  flags->common.add_to(*command, kTranslator);
  return made;
}

}  // namespace headlight::app
