#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "app/cli/export_flags.h"
#include "app/cli/output.h"
#include "app/engine/analyses/run_sample.h"
#include "app/engine/engine_worker.h"
#include "app/models/starter_view.h"
#include "app/state/model_changes.h"
#include "app/state/session_file.h"
#include "app/state/usage.h"
#include "core/error.h"

namespace headlight::app {
namespace {

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

}  // namespace

int check_record(const std::filesystem::path& path, bool writes_record, const std::string& device,
                 const std::shared_ptr<ModelCache>& models) {
  if (writes_record && is_figure_path(path)) throw UsageError("--record: {} is a figure; save it as a session", utf8(path));
  const Result<State> loaded = load_session(path);
  if (!loaded) throw Error("{}", loaded.error());
  State state = *loaded;
  find_moved_model(state);
  const std::optional<SessionRecord> saved = load_record(path);

  const AnalysisQuery sample = RunSampleQuestion();
  const EngineResult result = compute(run_inputs(state), sample, device, models);
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
  } else if (!writes_record) {
    tell("the file has none; --record writes one");
  }
  if (writes_record) {
    save_session(path, *loaded, &computed);
    tell(fmt::format("{} numbers written", computed.weights.size() + computed.logits.size()));
    is_as_saved = true;
  }
  json["as_saved"] = is_as_saved;
  tell_result(said, json);
  return is_as_saved ? 0 : 1;
}

}  // namespace headlight::app
