#include "app/cli/subcommands.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "app/cli/output.h"
#include "app/data/survey/survey_activations.h"
#include "app/data/survey/survey_child.h"
#include "app/data/survey/survey_files.h"
#include "app/data/survey/survey_run.h"
#include "app/models/starter_view.h"
#include "app/state/usage.h"
#include "core/error.h"
#include "core/file.h"
#include "core/line_reader.h"
#include "inference/language_model.h"
#include "inference/weight_findings.h"

namespace headlight::app {
namespace {

using evaluation::CorpusMetric;
using evaluation::HeadMetric;

constexpr std::uint32_t kMaxParts = 1'000'000;

struct SurveyFlags {
  std::string corpus, model, device;
  std::filesystem::path directory = "survey", headvis, site;
  SurveyChoices choices;
  std::vector<CorpusMetric> own;  ///< metrics by patterns, which come after the others
  std::vector<std::string> devices;
  std::vector<std::filesystem::path> parts;  ///< folders to merge
  std::string shard;                         ///< "2/8"
  bool restarts = false, is_dry_run = false;
};

/// Reads the user's own metric: "two-back=k == q - 2".
CorpusMetric own_metric(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw UsageError("--metric is NAME=PATTERN, not '{}'", text);
  try {
    return {text.substr(0, equals), text.substr(equals + 1)};
  } catch (const Error& error) {
    throw UsageError("--metric: {}", error.what());
  }
}

/// Returns the metrics by name, then those by patterns.
std::vector<CorpusMetric> all_metrics(const SurveyFlags& flags) {
  if (flags.own.size() > evaluation::kMaxOwnMetrics) {
    throw UsageError("--metric was given {} times, of {} at most", flags.own.size(), evaluation::kMaxOwnMetrics);
  }
  std::vector<CorpusMetric> all = flags.choices.metrics;
  for (const CorpusMetric& own : flags.own) {
    if (std::ranges::find(all, own.own_name, &CorpusMetric::own_name) != all.end()) {
      throw UsageError("--metric has '{}' twice", own.own_name);
    }
    all.push_back(own);
  }
  return all;
}

/// Returns the shards of part i of n, "i/n".
ShardRange part_of(const std::string& text, std::uint64_t shards) {
  const std::size_t slash = std::min(text.find('/'), text.size() - 1);
  const std::uint64_t parts = parse_integer("--shard i/n", text.substr(slash + 1), 1, kMaxParts);
  const std::uint64_t part = parse_integer("--shard i/n", text.substr(0, slash), 1, parts);
  const auto begin = [&](std::uint64_t of) { return shards / parts * of + std::min(of, shards % parts); };
  return {.first = begin(part - 1), .end = begin(part)};
}

void write_results(const SurveyFlags& flags, const SurveyResults& results) {
  const evaluation::CorpusStatistics& found = results.statistics;
  const CorpusFile& corpus = *results.survey.corpus;
  if (found.texts == 0 && flags.shard.empty()) throw Error("{} has no text that can be measured", utf8(corpus.path()));
  if (!results.measures().activations.sites.empty()) describe_activations(flags.directory, results);
  write_survey_files(flags.directory, results);
  if (!flags.headvis.empty()) write_headvis(flags.headvis, results);
  if (!flags.site.empty()) write_survey_site(flags.site, results);
  const bool has_kinds = results.layout().has_kinds();
  const char* rows = has_kinds ? "pairs of texts" : results.measures().packs ? "rows of texts" : "texts";
  std::string said = fmt::format("{} {}, {} tokens", found.texts, rows, found.tokens);
  if (found.cut > 0) said += fmt::format(", {} cut to {} tokens", found.cut, results.measures().most_tokens);
  if (found.odd > 0) {
    said += fmt::format(", {} with attention that isn't a number", found.odd);
    inference::note_run_warning(fmt::format("{} of {} texts have attention that isn't a number: heads aren't measured there",
                                            found.odd, found.texts));
  }
  if (found.skipped > 0) said += fmt::format(", {} lines skipped", found.skipped);
  if (!results.model().network->layers->decoder.empty()) {
    said += has_kinds
                ? "; heads of encoder, decoder and cross-attention"
                : fmt::format("; heads of the encoder alone, since lines have no \"{}\" for the decoder", kTargetField);
  }
  const std::string report = utf8(flags.directory / "report.html");
  tell_result(fmt::format("{}; {} shows what heads do", said, one_line(report)),
              {{"texts", found.texts}, {"tokens", found.tokens}, {"odd", found.odd}, {"report", report}});
}

/// Was it started by a window, which reads what it writes?
bool is_child() { return std::getenv(kSurveyChild) != nullptr; }

/// Reports the size of activations before they are written. Returns whether that was all that was asked for.
bool tell_size(const SurveyFlags& flags, const OpenedSurvey& opened, const ShardRange& shards) {
  const bool has_options = flags.is_dry_run || flags.choices[kSurveyActivations.every] > 1 ||
                           flags.choices[kSurveyActivations.precision] == inference::Precision::F16;
  if (opened.identity.measures.activations.sites.empty() && !has_options) return false;
  if (opened.identity.measures.activations.sites.empty())
    throw UsageError("--dry-run, --every and --activation-type are of activations: add --activations");
  const ActivationSize size = estimate_activations(opened, shards);
  const std::string said =
      fmt::format("activations of about {} tokens at {} sites: {} in {} files", size.rows,
                  opened.identity.measures.activations.sites.size(), bytes_in_words(size.bytes), size.files);
  if (flags.is_dry_run) {
    tell_result(said + ", which --dry-run doesn't write",
                {{"shards", shards.end - shards.first}, {"rows", size.rows}, {"bytes", size.bytes}, {"files", size.files}});
    return true;
  }
  tell_note(said);
  return false;
}

int survey(SurveyFlags& flags, Ranks& ranks) {
  const bool is_input = flags.corpus == kStandardInput;
  if (is_input && ranks.size() > 1) throw UsageError("- is rank 0's standard input alone: name a file");
  if (is_input && !flags.shard.empty()) throw UsageError("--shard takes a file: parts of standard input can't be merged");
  flags.choices.corpus = flags.corpus;
  flags.choices.metrics = all_metrics(flags);
  flags.choices.model = chosen_model(flags.model, kCaptionWriter);
  if (is_json_lines(flags.corpus)) flags.choices.set(kSurveyCorpus.is_json, true);
  const OpenedSurvey opened = open_survey(flags.choices, flags.directory);
  SurveyOptions options{.directory = flags.directory, .identity = opened.identity, .devices = flags.devices};
  if (!flags.shard.empty()) options.part = part_of(flags.shard, opened.corpus->shards());
  if (ranks.rank() != 0 && flags.is_dry_run) return 0;
  if (ranks.rank() == 0) {
    if (flags.restarts && !flags.is_dry_run) {
      std::filesystem::remove(flags.directory / kStateFile);
      std::filesystem::remove_all(flags.directory / kActivationsFolder);
    }
    if (tell_size(flags, opened, options.part.value_or(ShardRange{0, opened.corpus->shards()}))) return 0;
  }
  ProgressBar bar("shards", ranks.rank() != 0);
  std::optional<std::uint64_t> texts_before;
  std::mutex device_lock;
  std::set<std::string> devices;
  options.opened = [&](const std::string& name) {
    const std::lock_guard lock(device_lock);
    devices.insert(name);
  };
  options.tell = tell_note;
  options.progress = [&](const SurveyProgress& progress) {
    if (!texts_before) texts_before = progress.texts;
    bar.show(progress.done, progress.shards);
    if (!is_child()) return;
    write_json({{"done", progress.done}, {"shards", progress.shards}, {"texts", progress.texts}});
    std::cout << std::flush;
  };
  const auto began = std::chrono::steady_clock::now();
  const std::unique_ptr<SurveyFold> fold = run_survey(ranks, opened.model, *opened.corpus, options);
  if (!fold) return 0;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  bar.clear();
  const evaluation::CorpusStatistics found = fold->statistics();
  write_results(flags, {.survey = opened,
                        .statistics = found,
                        .device = fmt::format("{}", fmt::join(devices, ", ")),
                        .seconds = seconds,
                        .texts = found.texts - texts_before.value_or(0),
                        .ranks = ranks.size(),
                        .shard = flags.shard});
  return 0;
}

/// Writes the parts that --shard measured as one survey.
int run_merge(SurveyFlags& flags) {
  if (flags.parts.empty()) throw UsageError("name the folders: headlight survey merge DIR...");
  SurveyChoices choices = read_choices(flags.parts.front());
  if (!flags.corpus.empty()) choices.corpus = flags.corpus;
  choices.model = chosen_model(flags.model.empty() ? named_model(utf8(choices.model)) : flags.model, kCaptionWriter);
  if (flags.corpus.empty() && choices.corpus.filename() == kStandardInputName)
    throw Error("{} is of standard input, which can't be read again", utf8(flags.parts[0]));
  const OpenedSurvey opened = open_survey(std::move(choices), flags.directory);
  make_directories(flags.directory);
  SurveyFold fold(opened.identity, opened.corpus->shards(), {});
  for (const std::filesystem::path& part : flags.parts) {
    fold.take_in(part / kStateFile);
    if (!opened.identity.measures.activations.sites.empty()) take_activations(flags.directory, part);
  }
  if (!fold.is_complete()) {
    throw Error(
        "shard {} of {} is in none of these folders; name all parts, and measure to the end those that were interrupted",
        fold.next_missing(), opened.corpus->shards());
  }
  const evaluation::CorpusStatistics found = fold.statistics();
  write_results(flags, {.survey = opened, .statistics = found});
  return 0;
}

int run_survey_command(SurveyFlags& flags) {
  if (flags.corpus.empty()) throw UsageError("name the corpus: headlight survey FILE");
  if (flags.devices.empty() && !flags.device.empty()) flags.devices = {flags.device};
  const std::unique_ptr<Ranks> ranks = join_ranks();
  try {
    const int status = survey(flags, *ranks);
    if (ranks->rank() == 0) return status;
    // Rank 0 reports what all have found. A status that isn't 0 would end it.
    inference::forget_run_warning();
    inference::forget_weight_findings();
    return status;
  } catch (const std::exception& error) {
    if (is_child()) write_json({{"error", error.what()}});
    if (ranks->size() == 1) throw;
    std::cerr << "headlight: " << one_line(error.what()) << '\n' << std::flush;
    ranks->abort();
    return 1;
  }
}

void add_pages(const FlagGroup& output, SurveyFlags& flags) {
  output.take("--publish", "DIR", "also write a site: a page of all heads and one of each, without a server", flags.site);
  output.take("--headvis", "DIR", "also write the folder that HeadVis shows", flags.headvis);
}

void add_choices(const FlagGroup& flags, const SettingGroup& settings, SurveyChoices& choices) {
  add_setting_flags(flags, settings,
                    [&choices](const AnySetting& setting, SettingValue value) { choices.put(setting, std::move(value)); });
}

void add_activation_flags(const FlagGroup& group, SurveyFlags& flags) {
  SurveyChoices& choices = flags.choices;
  group.add_repeatable(
      "--activations", "LIST",
      "also keep every token's vectors as .npy files: stages as of headlight export --stages, of every layer "
      "(next) or one (next.3), joined by commas",
      [&choices](const std::vector<std::string>& values) { choices.activations = split_list("--activations", values); });
  add_choices(group, kSurveyActivations, choices);
  group.turn("--dry-run", "say how large activations will be, about; nothing is measured", flags.is_dry_run);
}

void add_corpus_flags(const FlagGroup& corpus, SurveyFlags& flags) {
  SurveyChoices& choices = flags.choices;
  // The name isn't "corpus": CLI11 2.4 refuses a subcommand's flag (survey merge --corpus) of a positional's name.
  corpus.add_argument("file", "FILE", "the corpus: a text a line, UTF-8, plain or .gz; - reads standard input",
                      flags.corpus);
  add_choices(corpus, kSurveyCorpus, choices);
  corpus.add_repeatable(
      "--metrics", "LIST",
      fmt::format("what to measure, joined by commas: {} (default previous,duplicate,induction,sink,entropy)",
                  fmt::join(evaluation::metric_names(), ", ")),
      [&choices](const std::vector<std::string>& values) {
        choices.metrics.clear();
        for (const std::string& name : split_list("--metrics", values)) {
          const auto metric = static_cast<HeadMetric>(parse_choice("--metrics", name, evaluation::metric_names()));
          if (std::ranges::find(choices.metrics, CorpusMetric(metric)) == choices.metrics.end())
            choices.metrics.emplace_back(metric);
        }
      });
  offer_words(corpus.app(), "--metrics", evaluation::metric_names(), Offer::List);
  corpus.add_repeatable(
      "--metric", "NAME=PATTERN",
      fmt::format(
          "also measure the mean weight on a pattern, by your name for it: {}, or a formula as 'k == q - 2'; up to {}",
          fmt::join(evaluation::own_pattern_names(), ", "), evaluation::kMaxOwnMetrics),
      [&flags](const std::vector<std::string>& values) {
        for (const std::string& value : values) flags.own.push_back(own_metric(value));
      });
  add_thinking_flag(corpus, choices.thinking);
}

Subcommand add_merge_command(CLI::App& survey) {
  const auto [command, flags, made] = begin_subcommand(survey, "merge", run_merge);
  const FlagGroup input(*command, "Input"), output(*command, "Output");
  input.add_arguments("parts", "DIR", "folders of surveys with --shard, in any order", flags->parts);
  input.take("--corpus", "FILE", "the corpus, where it isn't where the first folder names it", flags->corpus);
  output.take("-o,--out", "DIR", "folder to write into (default survey)", flags->directory);
  add_pages(output, *flags);
  add_model_flag(FlagGroup(*command, "Model"), "the model, where it isn't where the first folder names it", "",
                 flags->model);
  return made;
}

}  // namespace

Subcommand add_survey_command(CLI::App& app) {
  auto [command, flags, made] = begin_subcommand(app, "survey", run_survey_command);
  take_one_subcommand(*command);
  flags->choices.metrics = {HeadMetric::PreviousToken, HeadMetric::DuplicateToken, HeadMetric::Induction, HeadMetric::Sink,
                            HeadMetric::Entropy};
  const FlagGroup corpus(*command, "Corpus"), output(*command, "Output"), model(*command, "Model");
  add_corpus_flags(corpus, *flags);
  output.take("-o,--out", "DIR", "folder to write into, and to go on in (default survey)", flags->directory);
  output.turn("--restart", "measure everything again instead of going on", flags->restarts);
  output.take("--shard", "I/N", "measure part I of N alone, 1/N to N/N, for headlight survey merge", flags->shard);
  add_pages(output, *flags);
  add_activation_flags(FlagGroup(*command, "Activations"), *flags);
  FlagGroup(*command, "Device")
      .add_repeatable(
          "--devices", "LIST",
          "Vulkan devices of this machine that work at once, joined by commas; of several ranks on a machine "
          "each takes the next one",
          [flags = flags](const std::vector<std::string>& values) { flags->devices = split_list("--devices", values); });
  add_model_flag(model, "a trained model", fmt::format(" (default: {})", kCaptionWriter), flags->model);
  add_choices(model, kSurveyModel, flags->choices);
  add_device_flag(*command, flags->device);
  const Subcommand merging = add_merge_command(*command);
  made.run = [run = made.run, merging] { return was_given(*merging.app) ? merging.run() : run(); };
  return made;
}

}  // namespace headlight::app
