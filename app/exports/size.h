#pragma once

#include <cstdint>
#include <vector>

#include "app/exports/plan.h"

namespace headlight::app {

/// How much an export writes.
struct ExportSize {
  std::uint64_t numbers = 0;  ///< of all matrices, each counted once whatever formats it is written in
  std::uint64_t bytes = 0;    ///< an estimate where files are text or images; npy's are exact
};

/// Of the files of a plan, without running anything and without run.json. `network`, `input`: the run's.
ExportSize export_size(const ExportOptions& options, const std::vector<ExportBlocks>& plan, const model::Network& network,
                       const model::ModelInput& input);

}  // namespace headlight::app
