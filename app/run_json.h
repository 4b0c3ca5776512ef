#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/export_job.h"
#include "app/export_plan.h"
#include "app/run_source.h"
#include "core/tensor.h"

namespace headlight::app {

/// One written file, for run.json.
struct ExportedFile {
  std::string name;
  std::string stage;              ///< "weights", "encoder_output", …
  Shape shape;                    ///< of .npy files; empty for others
  std::vector<std::string> axes;  ///< ["layer", "batch", "head", "query", "key"]
};

/// What lies beside exported files: where their numbers come from and what their axes are.
struct RunRecord {
  const ExportOptions& options;
  const RunSource::Source& source;
  std::string device;
  std::vector<ExportBlocks> blocks;
  std::vector<ExportedFile> files;
  std::vector<std::string> notes;
};
nlohmann::json run_json(const RunRecord& record);

}  // namespace headlight::app
