#pragma once

#include <string>
#include <vector>

#include "app/exports/job.h"

namespace headlight::app {

/// The files that run_export() will write for these options, sorted by name, without running anything: `blocks` and `shapes`
/// are those of a run of the same inputs. Extra files of single notebooks are not among them.
std::vector<std::string> export_names(const ExportOptions& options, const std::vector<model::BlockRef>& blocks,
                                      const BlockShapes& shapes);

}  // namespace headlight::app
