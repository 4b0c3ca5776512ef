#include "app/cli/subcommands.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "app/analyses/run_sample.h"
#include "app/cli/output.h"
#include "app/cli/progress_bar.h"
#include "app/engine/engine_worker.h"
#include "app/exports/figure_kind.h"
#include "app/exports/job.h"
#include "app/models/starter_view.h"
#include "app/state/model_changes.h"
#include "app/state/session_file.h"
#include "app/state/usage.h"
#include "app/views/view_table.h"
#include "core/error.h"

namespace headlight::app {
namespace {

struct RunFlags {
  std::string file;
  std::string device;
  std::filesystem::path out;
  bool writes_record = false;
};

/// What the engine knows of the session when its record's numbers are there.
EngineResult compute(const RunInputs& inputs, const AnalysisQuery& sample, const std::string& device,
                     const std::shared_ptr<ModelCache>& models) {
  ProgressBar bar = ProgressBar::on_terminal("MiB of weights");
  EngineWorker worker({.open = open_runner,
                       .tile_bytes = kDefaultTileBytes,
                       .models = models,
                       .watch_load =
                           [&](std::size_t done, std::size_t total) {
                             bar.show(done >> 20, total >> 20);
                             return true;
                           },
                       .watch_compiling = compile_bar()});
  worker.open(device);
  worker.begin({.revision = 1, .inputs = inputs, .queries = {sample}});
  while (worker.has_more()) worker.evaluate_some();
  EngineResult result = worker.snapshot();
  if (!result.error.empty()) throw Error(result.error_kind, "{}", result.error);
  return result;
}

std::vector<std::filesystem::path> export_view(const RunFlags& flags, const State& state,
                                               const std::shared_ptr<ModelCache>& models) {
  ExportOptions options;
  static_cast<ExportContents&>(options) = find_view(state.view.tab).exported(state);
  options.inputs = run_inputs(state);
  options.models = models;
  options.formats = {ExportFormat::Png, ExportFormat::Npy};
  options.choice = figure_choice(state);
  const FigureKind* own = options.stages.empty() ? find_figure_kind(state.view.tab) : nullptr;
  if (own != nullptr) {
    options.views = {own};
  } else if (options.stages.empty()) {
    options.formats = {ExportFormat::Npy};
    tell_note(fmt::format("numbers alone are written; headlight screenshot --session '{}' --out FILE.svg draws the view",
                          flags.file));
  }
  options.directory = flags.out;
  options.color_map = state.view.color_map;
  options.is_row_normalized = state.view.color_range == ColorRange::PerRow;
  options.color_spread = state.view.color_spread;
  options.is_dark = state.view.theme != Theme::Light;
  const std::unique_ptr<Runner> runner = open_runner(flags.device);
  runner->watch_compiling(compile_bar());
  const std::size_t count = plan_run(options).files.size();
  tell_note(fmt::format("{} files will be in {}", count, utf8(flags.out)));
  const ExportReport report = run_export(*runner, options);
  for (const std::string& note : report.notes) tell_note(note);
  return report.files;
}

int run_session(const RunFlags& flags) {
  if (flags.file.empty()) throw UsageError("a session file is missing: headlight run notes.headlight.json");
  const std::filesystem::path path = flags.file;
  const Result<State> loaded = load_session(path);
  if (!loaded) throw Error("{}", loaded.error());
  State state = *loaded;
  find_moved_model(state);
  const std::optional<SessionRecord> saved = load_record(path);

  const auto models = std::make_shared<ModelCache>();
  const AnalysisQuery sample = RunSampleQuestion();
  const EngineResult result = compute(run_inputs(state), sample, flags.device, models);
  const Analysed* found = result.analysed(sample);
  const RunSample* numbers = found ? found->as<RunSample>() : nullptr;
  if (!numbers) throw Error("{}: its numbers can't be read{}", utf8(path), found ? ": " + found->error : "");
  const SessionRecord computed = record_of(*numbers, result.device);

  const std::string changed = model_changes(state);
  const std::uint32_t tokens = result.input->queries(result.blocks.back().kind).length;
  nlohmann::ordered_json json = {{"session", utf8(path)}, {"tokens", tokens}, {"device", result.device}};
  std::string said = fmt::format("{}: {} tokens{}{}\ndevice: {}", one_line(session_name(path)), tokens,
                                 changed.empty() ? "" : ", ", changed, result.device);
  const auto tell = [&](const std::string& of_record) {
    said += "\nrecord: " + of_record;
    json["record"] = of_record;
  };
  bool is_as_saved = true;
  if (saved) {
    const RecordAgreement agreement = compare(*saved, computed);
    is_as_saved = agrees(agreement);
    tell(describe(agreement, *saved));
  } else if (!flags.writes_record) {
    tell("the file has none; --record writes one");
  }
  if (flags.writes_record) {
    save_session(path, *loaded, &computed);
    tell(fmt::format("{} numbers written", computed.weights.size() + computed.logits.size()));
    is_as_saved = true;
  }
  json["as_saved"] = is_as_saved;
  if (!flags.out.empty()) {
    const std::size_t files = export_view(flags, state, models).size();
    said += fmt::format("\n{} files in {}", files, one_line(utf8(flags.out)));
    json["files"] = files;
  }
  tell_result(said, json);
  return is_as_saved ? 0 : 1;
}

}  // namespace

Subcommand add_run_command(CLI::App& app) {
  CLI::App* command = add_subcommand(app, "run");
  const auto flags = std::make_shared<RunFlags>();
  const FlagGroup session(*command, "Session");
  session.add_argument("session", "FILE", "a session file (File, Save session); needed", flags->file);
  session.turn("--record", "write the computed numbers into the file, as its record", flags->writes_record);
  FlagGroup(*command, "Output")
      .take("-o,--out", "DIR", "folder for what the session's view shows, as figures (png) and numbers (npy)", flags->out);
  add_device_flag(*command, flags->device);
  return {.app = command, .run = [flags] { return run_session(*flags); }};
}

}  // namespace headlight::app
