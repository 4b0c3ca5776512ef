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
#include "app/cli/progress_bar.h"
#include "app/models/starter_view.h"
#include "app/state/usage.h"
#include "app/survey/survey_child.h"
#include "app/survey/survey_files.h"
#include "app/survey/survey_run.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "core/line_reader.h"
#include "inference/language_model.h"
#include "inference/weight_findings.h"
#include "text/chat_template.h"

namespace headlight::app {
namespace {

using evaluation::HeadMetric;

constexpr std::uint32_t kMaxTop = 1'000, kMaxTextTokens = 32'768;

struct SurveyFlags {
  std::string corpus, model, device, field = "text";
  std::filesystem::path directory = "survey";
  std::vector<HeadMetric> metrics = {HeadMetric::PreviousToken, HeadMetric::DuplicateToken, HeadMetric::Induction,
                                     HeadMetric::Sink, HeadMetric::Entropy};
  std::uint32_t top = 20, tokens = 512;
  std::vector<std::string> devices;
  bool is_jsonl = false, restarts = false, is_chat = false, thinks = true;
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
  return fmt::format("{} ({} bytes, changed {})", utf8(path), bytes, changed.time_since_epoch().count());
}

/// Was it started by a window, which reads what it writes?
bool is_child() { return std::getenv(kSurveyChild) != nullptr; }

int survey(SurveyFlags& flags, Ranks& ranks) {
  const auto model = inference::open_model(chosen_model(flags.model, kCaptionWriter));
  const bool is_input = flags.corpus == kStandardInput;
  if (is_input && ranks.size() > 1) throw UsageError("- is rank 0's standard input alone: name a file");
  const std::filesystem::path file =
      is_input ? std::filesystem::path(kStandardInput) : std::filesystem::absolute(flags.corpus);
  const CorpusFile corpus(file, flags.directory, {.is_json = flags.is_jsonl || is_json_lines(file), .field = flags.field});
  evaluation::CorpusMeasures measures = evaluation::corpus_measures(*model, flags.metrics, flags.tokens, flags.top);
  measures.is_chat = flags.is_chat;
  measures.thinks = flags.thinks;
  // Refused before anything is measured: a model without a template, or one that takes no user's turn.
  if (flags.is_chat) static_cast<void>(inference::chat_template(*model).render("text", flags.thinks));
  if (flags.restarts && ranks.rank() == 0) std::filesystem::remove(flags.directory / "survey.state");
  SurveyOptions options{.directory = flags.directory,
                        .identity = {.corpus = corpus.identity(), .model = fingerprint(model->path), .measures = measures},
                        .devices = flags.devices,
                        .progress = {},
                        .tell = {},
                        .opened = {}};
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
  const std::unique_ptr<SurveyFold> fold = run_survey(ranks, model, corpus, options);
  if (!fold) return 0;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  bar.clear();
  const evaluation::CorpusStatistics& found = fold->statistics();
  if (found.texts == 0) throw Error("{} has no text that can be measured", utf8(corpus.path()));
  const std::uint64_t texts = found.texts - texts_before.value_or(0);
  write_survey_files(flags.directory, {.measures = measures,
                                       .statistics = found,
                                       .corpus = corpus,
                                       .model = *model,
                                       .device = fmt::format("{}", fmt::join(devices, ", ")),
                                       .seconds = seconds,
                                       .texts = texts,
                                       .ranks = ranks.size()});
  std::string said = fmt::format("{} texts, {} tokens", found.texts, found.tokens);
  if (found.cut > 0) said += fmt::format(", {} cut to {} tokens", found.cut, measures.most_tokens);
  if (found.odd > 0) {
    said += fmt::format(", {} with attention that isn't a number", found.odd);
    inference::note_run_warning(fmt::format("{} of {} texts have attention that isn't a number: heads aren't measured there",
                                            found.odd, found.texts));
  }
  if (found.skipped > 0) said += fmt::format(", {} lines skipped", found.skipped);
  const std::string report = utf8(flags.directory / "report.html");
  tell_result(fmt::format("{}; {} shows what heads do", said, one_line(report)),
              {{"texts", found.texts}, {"tokens", found.tokens}, {"odd", found.odd}, {"report", report}});
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
    if (is_child()) write_json({{"error", error.what()}});
    if (ranks->size() == 1) throw;
    std::cerr << "headlight: " << one_line(error.what()) << '\n' << std::flush;
    ranks->abort();
    return 1;
  }
}

}  // namespace

Subcommand add_survey_command(CLI::App& app) {
  CLI::App* command = add_subcommand(app, "survey");
  const auto flags = std::make_shared<SurveyFlags>();
  const FlagGroup corpus(*command, "Corpus"), output(*command, "Output");
  corpus.add_argument("corpus", "FILE", "the corpus: a text a line, UTF-8, plain or .gz; - reads standard input",
                      flags->corpus);
  corpus.turn("--jsonl",
              "lines are JSON objects (default: where the file's name ends in .jsonl, .ndjson or .json, .gz aside)",
              flags->is_jsonl);
  add_field_flag(corpus, flags->field);
  corpus.add_repeatable(
      "--metrics", "LIST",
      fmt::format("what to measure, joined by commas: {} (default previous,duplicate,induction,sink,entropy)",
                  fmt::join(evaluation::metric_names(), ", ")),
      [flags = flags.get()](const std::vector<std::string>& values) {
        flags->metrics.clear();
        for (const std::string& name : split_list("--metrics", values)) {
          const auto metric = static_cast<HeadMetric>(parse_choice("--metrics", name, evaluation::metric_names()));
          if (std::ranges::find(flags->metrics, metric) == flags->metrics.end()) {
            flags->metrics.push_back(metric);
          }
        }
      });
  offer_words(*command, "--metrics", evaluation::metric_names(), Offer::List);
  corpus.take_count("--top", "N", "texts to keep of each head and metric, 1 to 1000 (default 20)", flags->top, 1, kMaxTop);
  corpus.take_count("--tokens", "N",
                    "cut longer texts, and count them; 2 to 32768, and no more than the model's positions (default 512)",
                    flags->tokens, 2, kMaxTextTokens);
  corpus.turn("--chat",
              "texts are chats, which the model's template writes: each is the user's turn, or has lines 'system: ...', "
              "'user: ...', 'assistant: ...'",
              flags->is_chat);
  corpus.take_choice("--thinking", "on|off", "the switch of a chat template that has one (default on)", flags->thinks,
                     {{"on", true}, {"off", false}});
  output.take("-o,--out", "DIR", "folder to write into, and to go on in (default survey)", flags->directory);
  output.turn("--restart", "measure everything again instead of going on", flags->restarts);
  FlagGroup(*command, "Device")
      .add_repeatable("--devices", "LIST",
                      "Vulkan devices of this machine that work at once, joined by commas; of several ranks on a machine "
                      "each takes the next one",
                      [flags = flags.get()](const std::vector<std::string>& values) {
                        flags->devices = split_list("--devices", values);
                      });
  add_model_flag(FlagGroup(*command, "Model"), "a trained model", fmt::format(" (default: {})", kCaptionWriter),
                 flags->model);
  add_device_flag(*command, flags->device);
  return {.app = command, .run = [flags] { return run_command(*flags); }};
}

}  // namespace headlight::app
