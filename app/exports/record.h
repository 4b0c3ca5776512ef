#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/exports/job.h"
#include "app/exports/plan.h"
#include "export/run_json.h"

namespace headlight::app {

/// What run.json tells about an export: where the numbers come from, and what was asked for.
struct RunRecord {
  const ExportOptions& options;
  const inference::LanguageModel* language_model;  ///< null: playground or preset
  const model::ModelInput& input;
  std::string device;
  const std::vector<ExportBlocks>& blocks;
  const std::vector<exporting::WrittenStage>& stages;
  const std::vector<std::string>& notes;
};

/// Throws Error in one line when the file can't be written.
void write_run_record(const std::filesystem::path& path, const RunRecord& record);

}  // namespace headlight::app
