#pragma once

#include <string>
#include <vector>

#include "app/exports/job.h"
#include "app/exports/plan.h"
#include "export/json.h"
#include "export/run_json.h"

namespace headlight::app {

/// The contents of run.json: the source of the numbers, and the export's options.
struct RunRecord {
  const ExportOptions& options;
  const inference::LanguageModel* language_model;  ///< null: playground or preset
  const model::Network& network;                   ///< that was run
  const model::ModelInput& input;
  std::string device;
  const std::vector<ExportBlocks>& blocks;
  const std::vector<exporting::WrittenStage>& stages;
  const std::vector<std::string>& notes;
  const RunSource::Source* reference = nullptr;  ///< of the run that is compared with; null: none is
};

/// What an export writes and how, whatever it is of: selection, formats, figures.
exporting::Json describe_settings(const ExportOptions& options);

std::string encode_run_record(const RunRecord& record);

}  // namespace headlight::app
