#include "app/cli/subcommands.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/export_flags.h"
#include "app/cli/output.h"
#include "app/data/checkpoints/step_series.h"
#include "app/data/prompts/fitted_prompt.h"
#include "app/figures/figure_kind.h"
#include "app/figures/job.h"
#include "app/models/starter_view.h"
#include "app/state/heads_settings.h"
#include "app/state/session_file.h"
#include "app/state/usage.h"
#include "app/window/viewer.h"
#include "core/text_bytes.h"
#include "export/text_metrics.h"

namespace headlight::app {
namespace {

constexpr const char* kCompareFlags = "--compare-with, --compare-text and --compare-mask";

/// On a terminal, standard error shows the progress of loading and writing.
ExportReport export_with_progress(Runner& runner, const ExportOptions& options) {
  ProgressBar bar = ProgressBar::on_terminal("MiB of weights");
  bool counts_files = false;
  std::string file;
  std::optional<platform::LastWords> left;
  return run_export(runner, options, [&](const ExportProgress& progress) {
    if (progress.total == 0) {
      bar.show(progress.loaded_bytes >> 20, progress.bytes_to_load >> 20);
    } else {
      constexpr std::size_t kFew = 8;  // of few files each takes long
      const bool is_next = !std::exchange(counts_files, true) || file != progress.file;
      file = progress.file;
      if (is_next && options.file.empty())
        say_if_interrupted(left, fmt::format("{} of {} files", progress.done, progress.total), options.directory);
      if (progress.total > kFew) {
        if (is_next && progress.done == 0) bar.begin("files");
        bar.show(progress.done, progress.total);
      } else {
        if (is_next) bar.begin("% of " + file);
        bar.show(static_cast<std::size_t>(progress.share * 100.0), 100);
      }
    }
    return true;
  });
}

/// What one figure shows where no view is named: a head, the heads of a layer, or all.
const FigureKind* figure_of_selection(const ExportOptions& options) {
  const auto is_one = [](const std::optional<IndexSet>& set) { return set && set->count() == 1; };
  if (options.mean != HeadMean::Kind && !is_one(options.layers)) return &kGridFigure;
  return options.mean != HeadMean::None || is_one(options.heads) ? &kHeadFigure : &kHeadsFigure;
}

/// One file, where --out ends in the name of a format, or is standard output.
void take_file(ExportOptions& options, bool is_output) {
  const std::string extension = utf8(options.directory.extension());
  std::error_code failure;
  Result<ExportFormat> format = parse_format(extension.empty() ? extension : extension.substr(1));
  if (extension == ".json" && !std::filesystem::is_directory(options.directory, failure))
    throw UsageError("--out {}: {}", utf8(options.directory.filename()), format.error());
  if (is_output) {
    if (options.formats.size() != 1) throw UsageError("--out -: say with --format which one standard output gets");
    format = options.formats.front();
    options.directory /= fmt::format("figure.{}", to_string(*format));
  }
  if (format && *format != ExportFormat::Tiles && !std::filesystem::is_directory(options.directory, failure)) {
    if (options.formats.empty()) options.formats = {*format};
    if (options.formats != std::vector{*format}) {
      throw UsageError("--out {}: one file holds one format; leave out --format, or name a folder",
                       utf8(options.directory.filename()));
    }
    options.file = utf8(options.directory.filename());
    options.directory = options.directory.has_parent_path() ? options.directory.parent_path() : ".";
    if (is_figure(*format) && options.views.empty()) options.views = {figure_of_selection(options)};
  } else if (is_output) {
    throw UsageError("--out -: tiles are a folder");
  }
  if (options.formats.empty()) options.formats = {ExportFormat::Png};
}

/// Returns the options that the flags choose by themselves, without a format where none is named.
ExportOptions given_options(const ExportFlags& flags) {
  ExportOptions options;
  options.formats.clear();
  for (const auto& choose : flags.choices) choose(options);
  return options;
}

/// Returns the options of the figure that --session names, changed by the flags.
ExportOptions chosen_options(const ExportFlags& flags, const State& state, const ExportOptions& given) {
  const std::filesystem::path path = flags.model.session_file();
  const bool is_figure = is_figure_path(path) && flags.texts.empty();
  const std::optional<nlohmann::json> figure = is_figure ? load_figure(path) : std::nullopt;
  if (!figure) return given;  // a view's own has a session alone
  ExportOptions options;
  try {
    options = options_of_figure(*figure, state.compare.baseline);
  } catch (const Error& error) {
    throw Error("{}: {}", utf8(path), error.what());
  }
  if (given[kFigureLook.map_edge_mm] > 0.0F) options.set(kFigureDetails.width_mm, 0.0F);
  for (const auto& choose : flags.choices) choose(options);
  options.formats = given.formats;
  if (options.formats.empty()) options.formats = {*parse_format(utf8(path.extension()).substr(1))};
  return options;
}

ExportOptions options_of(const ExportFlags& flags, const State& state, bool is_output) {
  const ExportOptions given = given_options(flags);
  ExportOptions options = chosen_options(flags, state, given);
  options.directory = flags.out;
  if (options.directory.empty())
    throw UsageError("--out is missing: name the folder or the file to write, or - for standard output");
  if (is_output) options.directory = passing_place();
  if (flags.texts.empty()) {
    take_file(options, is_output);
  } else if (options.formats.empty()) {
    options.formats = {ExportFormat::Png};
  }
  if (flags.range) {
    for (const attention::Stage stage : options.stages) options.color_limits[stage] = *flags.range;
  }
  if (!given.views.empty() && std::ranges::none_of(options.formats, is_figure)) {
    throw UsageError("--views are figures: add png, svg or pdf to --format");
  }
  check_sizes(given);
  if (std::ranges::any_of(options.formats, is_figure)) check_font(options);
  options.models = flags.model.models();
  return options;
}

void check_input(const ExportFlags& flags) {
  if (flags.checks_record && flags.model.session_file().empty())
    throw UsageError("--check-record: name a session, as in --session notes.headlight.json");
  if (flags.texts.empty()) {
    if (flags.is_jsonl) throw UsageError("--jsonl is about --texts, which is missing");
    if (flags.model.has_input()) return;
    throw UsageError("--text or {} is missing: say what to compute", flags.model.names_model() ? "--ids" : "--preset");
  }
  if (flags.model.names_text())
    throw UsageError("--texts brings the texts: leave out --text, --ids, --preset and --capture");
}

/// Views' own figures are drawn by a window offscreen. Throws Error where one can't be made.
void let_views_draw(ExportOptions& options, const ExportFlags& flags, const State& state) {
  const auto is_chosen = [&](const FigureKind& kind) { return std::ranges::count(options.views, &kind) > 0; };
  if (std::ranges::all_of(options.views, [](const FigureKind* kind) { return kind->view.empty(); })) return;
  if (!is_model(state.source) || !flags.texts.empty())
    throw UsageError("--views: retrieval, prompts and checkpoints are of a language model and one text");
  const std::string &set = state[kPromptsView.set], &path = model_path(state.source);
  if (is_chosen(kPromptsFigure) && set.empty()) throw UsageError("--views prompts: name a set with --prompts");
  if (is_chosen(kPromptsFigure)) read_prompt_set(prompt_set_file(set));
  if (is_chosen(kCheckpointsFigure) && find_checkpoints(path).steps.empty())
    throw Error("--views checkpoints: there are no other steps of this training beside {}", path);
  options.write_view = [state, look = static_cast<const Choices&>(options), models = options.models,
                        batch = options.batch.value_or(0),
                        device = flags.device](const FigureKind& kind, const std::filesystem::path& file) {
    ScreenshotOptions shown{
        .state = state, .out = file, .is_figure = true, .look = look, .device = device, .models = models};
    shown.state.view.tab = kind.view;
    shown.state.selection.batch = batch;
    if (&kind == &kRetrievalFigure) shown.state.set(kHeadsView.mode, HeadsMode::Retrieval);
    take_screenshot(shown);
  };
}

int run_export_command(ExportFlags& flags) {
  flags.checks_record |= flags.writes_record;
  check_input(flags);
  const bool is_output = flags.out == kStandardInput;
  int status = 0;
  if (flags.checks_record) {
    if (is_output) throw UsageError("--out -: --check-record writes there, too; name a file or a folder");
    status = check_record(flags.model.session_file(), flags.writes_record, flags.device, flags.model.models());
    if (flags.out.empty() && given_options(flags).formats.empty()) return status;
  }
  if (is_output && !flags.texts.empty()) throw UsageError("--out -: --texts writes a folder for each text");
  State state;
  flags.model.apply(state);  // may add to the selection
  for (const StateEdit& edit : flags.edits) edit(state);
  ExportOptions options = options_of(flags, state, is_output);
  std::optional<PassingFile> output;
  if (is_output) output.emplace(options.directory / options.file);
  options.inputs = run_inputs(state);
  if (flags.comparisons.size() > 1) throw UsageError("{} exclude each other: choose one", kCompareFlags);
  if (!flags.comparisons.empty()) {
    if (!flags.texts.empty()) throw UsageError("--texts brings texts of any length: leave out {}", kCompareFlags);
    flags.comparisons.front()(state);
    options.baseline = *state.compare.baseline;
  }
  options.choice = figure_choice(state);
  let_views_draw(options, flags, state);
  if (flags.has_session) options.session = portable_state(state, options.directory);
  std::unique_ptr<Runner> runner;
  if (!flags.is_dry_run) {
    runner = open_runner(flags.device);
    runner->watch_compiling(compile_bar());
  }
  if (!flags.texts.empty()) return export_texts(runner.get(), flags, options, state);
  const ExportReport report = runner ? export_with_progress(*runner, options) : plan_run(options);
  for (const std::string& note : report.notes) tell_note(note);
  if (output && runner) {
    print_file(*output);
  } else {
    tell_report(report, options.file.empty() ? options.directory : "", flags.is_dry_run);
  }
  return status;
}

}  // namespace

void say_if_interrupted(std::optional<platform::LastWords>& left, const std::string& what,
                        const std::filesystem::path& folder) {
  left.emplace(platform::kStandardError,
               fmt::format("headlight: interrupted: {} are in {}\n", what, one_line(utf8(folder), 300)), true);
}

void tell_report(const ExportReport& report, const std::filesystem::path& folder, bool is_dry_run) {
  nlohmann::ordered_json json = {{"files", nlohmann::ordered_json::array()}};
  std::string lines;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < report.files.size(); ++i) {
    const std::string name = utf8(report.files[i]);
    sum += report.bytes[i];
    json["files"].push_back({{"name", name}, {"bytes", report.bytes[i]}});
    lines += fmt::format("{:>10}  {}\n", bytes_in_words(report.bytes[i]), one_line(name));
  }
  json["bytes"] = sum;
  json["notes"] = nlohmann::ordered_json::array();  // which tell_result() adds
  const std::string plan =
      fmt::format("{}{:>10}  in {} files, which --dry-run doesn't write", lines, bytes_in_words(sum), report.files.size());
  const std::string written =
      folder.empty() ? utf8(report.files.front()) : fmt::format("{} files in {}", report.files.size(), utf8(folder));
  tell_result(is_dry_run ? plan : one_line(written), json);
}

Subcommand add_export_command(CLI::App& app) {
  const auto [command, flags, made] = begin_subcommand(app, "export", run_export_command);
  add_export_flags(*command, *flags);
  flags->model.add_text_argument(*command);
  flags->model.add_to(*command, "--scale,--score-scale",
                      fmt::format("{}; any flag of the playground's computes that instead", kCaptionWriter));
  flags->model.use_default_model(kCaptionWriter);
  add_device_flag(*command, flags->device);
  return made;
}

}  // namespace headlight::app
