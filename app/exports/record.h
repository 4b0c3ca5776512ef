#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/exports/job.h"
#include "app/exports/plan.h"
#include "export/run_json.h"

namespace headlight::app {

/// The contents of run.json: the source of the numbers, and the export's options.
struct RunRecord {
  const ExportOptions& options;
  const inference::LanguageModel* language_model;  ///< null: playground or preset
  const model::ModelInput& input;
  std::string device;
  const std::vector<ExportBlocks>& blocks;
  const std::vector<exporting::WrittenStage>& stages;
  const std::vector<std::string>& notes;
  const RunSource::Source* reference = nullptr;  ///< of the run that is compared with; null: none is
};

/// Throws Error in one line when the file can't be written.
void write_run_record(const std::filesystem::path& path, const RunRecord& record);

}  // namespace headlight::app
