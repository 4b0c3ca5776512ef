#include "app/cli/subcommands.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "app/cli/progress_bar.h"
#include "app/models/starter_view.h"
#include "app/state/usage.h"
#include "app/survey/survey_files.h"
#include "app/survey/survey_run.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "core/line_reader.h"
#include "inference/weight_findings.h"

namespace headlight::app {
namespace {

using evaluation::HeadMetric;

constexpr const char* kSurveyDescription =
    "What every head does over a whole corpus, with the texts that show it\n\n"
    "Runs a model with one stack over a text file, a text a line, and writes for every head and metric mean, spread and\n"
    "histogram over the texts (heads.jsonl, mean.npy, spread.npy, histogram.npy), the texts with the highest values and "
    "the\n"
    "cell that shows it (examples.jsonl), and a page to look at (report.html). A run that was interrupted goes on where it\n"
    "was. Memory doesn't grow with the corpus.";

constexpr const char* kSurveyFooter =
    "Metrics: previous, duplicate and induction are the mean weight on a pattern's keys, over the queries that have one;\n"
    "sink, concentration, evenness, entropy and distance are means over queries (headlight evaluate heads --help has the\n"
    "formulas).\n"
    "As ranks of MPI, on one machine or several with the same files: results are the same to the last bit.\n\n"
    "Examples:\n"
    "  headlight survey corpus.txt --model captions-gpt2 --metrics induction,entropy --top 20 --out survey\n"
    "  headlight survey corpus.txt --devices 0,1 --out survey\n"
    "  mpirun -n 4 headlight survey corpus.txt --out survey";

constexpr std::uint32_t kMostTop = 1'000, kMostTextTokens = 32'768;

struct SurveyFlags {
  std::string corpus, model, device, field = "text";
  std::filesystem::path directory = "survey";
  std::vector<HeadMetric> metrics = {HeadMetric::PreviousToken, HeadMetric::DuplicateToken, HeadMetric::Induction,
                                     HeadMetric::Sink, HeadMetric::Entropy};
  std::uint32_t top = 20, tokens = 512;
  std::vector<std::string> devices;
  bool is_jsonl = false, restarts = false, is_quiet = false;
};

/// The size of a model's files and the time of their last change, for telling whether it is the same.
std::string fingerprint(const std::filesystem::path& path) {
  std::uintmax_t bytes = 0;
  std::filesystem::file_time_type changed = std::filesystem::file_time_type::min();
  const auto look_at = [&](const std::filesystem::path& file) {
    bytes += std::filesystem::file_size(file);
    changed = std::max(changed, std::filesystem::last_write_time(file));
  };
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.is_regular_file()) look_at(entry.path());
    }
  } else {
    look_at(path);
  }
  return fmt::format("{} ({} bytes, changed {})", path.string(), bytes, changed.time_since_epoch().count());
}

int survey(SurveyFlags& flags, Ranks& ranks) {
  const auto model = inference::open_model(chosen_model(flags.model, kCaptionWriter));
  const bool is_input = flags.corpus == kStandardInput;
  if (is_input && ranks.size() > 1) throw UsageError("- is rank 0's standard input alone: name a file");
  const std::filesystem::path file =
      is_input ? std::filesystem::path(kStandardInput) : std::filesystem::absolute(flags.corpus);
  const CorpusFile corpus(file, flags.directory, {.is_json = flags.is_jsonl || is_json_lines(file), .field = flags.field});
  const evaluation::CorpusMeasures measures = evaluation::corpus_measures(*model, flags.metrics, flags.tokens, flags.top);
  if (flags.restarts && ranks.rank() == 0) std::filesystem::remove(flags.directory / "survey.state");
  SurveyOptions options{.directory = flags.directory,
                        .identity = {.corpus = corpus.identity(), .model = fingerprint(model->path), .measures = measures},
                        .devices = flags.devices,
                        .progress = {},
                        .tell = {},
                        .opened = {}};
  ProgressBar bar("shards", flags.is_quiet || ranks.rank() != 0);
  std::optional<std::uint64_t> texts_before;
  std::mutex device_lock;
  std::set<std::string> devices;
  options.opened = [&](const std::string& name) {
    const std::lock_guard lock(device_lock);
    devices.insert(name);
  };
  if (!flags.is_quiet)
    options.tell = [](const std::string& line) { std::cerr << "headlight: note: " << one_line(line) << '\n'; };
  options.progress = [&](const SurveyProgress& progress) {
    if (!texts_before) texts_before = progress.texts;
    bar.show(progress.done, progress.shards);
  };
  const auto began = std::chrono::steady_clock::now();
  const std::unique_ptr<SurveyFold> fold = run_survey(ranks, model, corpus, options);
  if (!fold) return 0;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  bar.clear();
  const evaluation::CorpusStatistics& found = fold->statistics();
  if (found.texts == 0) throw Error("{} has no text that can be measured", corpus.path().string());
  const std::uint64_t texts = found.texts - texts_before.value_or(0);
  write_survey_files(flags.directory, {.measures = measures,
                                       .statistics = found,
                                       .corpus = corpus,
                                       .model = *model,
                                       .device = fmt::format("{}", fmt::join(devices, ", ")),
                                       .seconds = seconds,
                                       .texts = texts,
                                       .ranks = ranks.size()});
  std::cout << fmt::format("{} texts, {} tokens", found.texts, found.tokens);
  if (found.cut > 0) std::cout << fmt::format(", {} cut to {} tokens", found.cut, measures.most_tokens);
  if (found.odd > 0) {
    std::cout << fmt::format(", {} with attention that isn't a number", found.odd);
    inference::note_run_warning(fmt::format("{} of {} texts have attention that isn't a number: heads aren't measured there",
                                            found.odd, found.texts));
  }
  if (found.skipped > 0) std::cout << fmt::format(", {} lines skipped", found.skipped);
  std::cout << fmt::format("; {} shows what heads do\n", one_line((flags.directory / "report.html").string()));
  return 0;
}

int run_command(SurveyFlags& flags) {
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
    if (ranks->size() == 1) throw;
    std::cerr << "headlight: " << one_line(error.what()) << '\n' << std::flush;
    ranks->abort();
    return 1;
  }
}

}  // namespace

Subcommand add_survey_command(CLI::App& app) {
  CLI::App* command = add_subcommand(app, "survey", kSurveyDescription);
  const auto flags = std::make_shared<SurveyFlags>();
  add_argument(*command, "corpus", "FILE", "the corpus: a text a line, UTF-8, plain or .gz; - reads standard input",
               "Corpus", flags->corpus);
  add_plain_flag(*command, "--jsonl",
                 "lines are JSON objects (default: where the file's name ends in .jsonl, .ndjson or .json, .gz aside)",
                 "Corpus", [flags = flags.get()] { flags->is_jsonl = true; });
  add_field_flag(*command, flags->field, "Corpus");
  add_repeatable_flag(
      *command, "--metrics", "LIST",
      fmt::format("what to measure, joined by commas: {} (default previous,duplicate,induction,sink,entropy)",
                  fmt::join(evaluation::metric_names(), ", ")),
      "Corpus", [flags = flags.get()](const std::vector<std::string>& values) {
        flags->metrics.clear();
        for (const std::string& name : split_list("--metrics", values)) {
          const auto metric = static_cast<HeadMetric>(parse_choice("--metrics", name, evaluation::metric_names()));
          if (std::ranges::find(flags->metrics, metric) == flags->metrics.end()) {
            flags->metrics.push_back(metric);
          }
        }
      });
  offer_words(*command, "--metrics", evaluation::metric_names(), Offer::List);
  add_flag(*command, "--top", "N", "texts to keep of each head and metric, 1 to 1000 (default 20)", "Corpus",
           [flags = flags.get()](const std::string& text) {
             flags->top = static_cast<std::uint32_t>(parse_integer("--top", text, 1, kMostTop));
           });
  add_flag(*command, "--tokens", "N",
           "cut longer texts, and count them; 2 to 32768, and no more than the model's positions (default 512)", "Corpus",
           [flags = flags.get()](const std::string& text) {
             flags->tokens = static_cast<std::uint32_t>(parse_integer("--tokens", text, 2, kMostTextTokens));
           });
  add_flag(*command, "--out", "DIR", "folder to write into, and to go on in (default survey)", "Output",
           [flags = flags.get()](const std::string& text) { flags->directory = text; });
  add_plain_flag(*command, "--restart", "measure everything again instead of going on", "Output",
                 [flags = flags.get()] { flags->restarts = true; });
  add_repeatable_flag(
      *command, "--devices", "LIST",
      "Vulkan devices of this machine that work at once, joined by commas; of several ranks on a machine each "
      "takes the next one",
      "Device",
      [flags = flags.get()](const std::vector<std::string>& values) { flags->devices = split_list("--devices", values); });
  add_flag(*command, "--model", "PATH", fmt::format("a trained model: {} (default: {})", kModelNames, kCaptionWriter),
           "Model", [flags = flags.get()](const std::string& text) { flags->model = named_model(text); });
  offer_model_names(*command);
  add_plain_flag(*command, "--quiet", "no progress on standard error", "Output",
                 [flags = flags.get()] { flags->is_quiet = true; });
  add_device_flag(*command, flags->device);
  set_footer(*command, kSurveyFooter);
  return {.app = command, .run = [flags] { return run_command(*flags); }};
}

}  // namespace headlight::app
