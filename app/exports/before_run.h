#pragma once

#include <memory>

#include "app/engine/run_source.h"
#include "app/exports/job.h"
#include "app/exports/plan.h"

namespace headlight::app {

/// The shapes of a pass of the network, before there is one.
RunShapes shapes_before_run(const model::Network& network, const model::ModelInput& input);

/// The source's network, or the part of it that the export needs: where single layers are chosen and nothing is written of
/// what comes after them, those up to the last chosen one, and of that one the attention alone.
std::shared_ptr<const model::Network> needed_network(const RunSource::Source& source, const ExportOptions& options);

/// Throws UsageError where a figure will be larger than its format allows, naming what makes it smaller. `blocks`: of
/// select_blocks().
void expect_room_for_figures(const RunSource::Source& source, const ExportOptions& options,
                             const std::vector<ExportBlocks>& blocks);

}  // namespace headlight::app
