#pragma once

#include "app/exports/job.h"
#include "export/json.h"

namespace headlight::app {

struct ExportWork;

/// What an export writes and how, whatever it is of: selection, formats, figures.
exporting::Json describe_settings(const ExportOptions& options);

/// The contents of run.json: the source of the numbers, the export's options, and the `arrays` that it wrote: file, stage,
/// shape and axes of each.
std::string encode_run_record(const ExportWork& work, const exporting::Json& arrays);

}  // namespace headlight::app
