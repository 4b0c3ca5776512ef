#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/engine/run_source.h"
#include "app/engine/runner.h"
#include "app/exports/job.h"
#include "app/exports/numbers.h"
#include "app/exports/plan.h"
#include "export/run_json.h"

namespace headlight::app {

/// What files are written from.
struct ExportWork {
  Runner& runner;
  const RunSource::Source& source;
  const ExportOptions& options;
  const KnownRun* reference = nullptr;  ///< what is compared with, and its source; null where the options have none
  std::shared_ptr<const inference::Run> run;
  std::vector<ExportBlocks> blocks = {};  ///< what is selected of the run
  Checkpoint checkpoint = {};
  std::vector<std::string> notes = {};
  std::vector<exporting::WrittenStage> stages = {};  ///< the arrays that are written, as run.json lists them

  /// Of figures, which may show both.
  Runs both_runs() const { return {.run = *run, .reference = reference ? reference->run.get() : nullptr}; }
  /// Of numbers, which are differences where there is a reference.
  Runs runs() const { return writes_difference(options) ? both_runs() : Runs{.run = *run}; }
  /// changes_note() of figures and pages.
  std::string changes() const;
  /// The contents of run.json, with these arrays.
  std::string record(const std::vector<exporting::WrittenStage>& written) const;
};

/// A file, or a folder of tiles.
struct PlannedFile {
  std::string name;
  double bytes = 0.0;  ///< an estimate where it is text or an image; of arrays exact
  std::function<void(ExportWork& work, const std::filesystem::path& path)> write;
};

/// What an export writes, in its order, without run.json.
struct ExportPlan {
  std::vector<PlannedFile> files = {};
  std::vector<std::string> notes = {};  ///< what is left out and why, a line each
  std::uint64_t numbers = 0;            ///< of all matrices, each counted once whatever formats it is written in

  std::uint64_t bytes() const;
  /// Sorted, with run.json where there is one.
  std::vector<std::string> names(const ExportOptions& options) const;
};

/// Without running anything. `blocks`: of select_blocks(), must outlive the plan; network and input are the run's.
ExportPlan plan_export(const ExportOptions& options, const std::vector<ExportBlocks>& blocks, const model::Network& network,
                       const model::ModelInput& input);

}  // namespace headlight::app
