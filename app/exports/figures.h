#pragma once

#include <string>

#include "app/exports/job.h"
#include "app/exports/numbers.h"
#include "app/exports/plan.h"
#include "export/figure.h"

namespace headlight::app {

/// One matrix with title, settings, tokens and colour bar. Matrices too large for an image come pooled from the device.
exporting::HeatmapFigure matrix_figure(const inference::Run& run, const model::ModelInput& input, const ExportBlocks& blocks,
                                       const MatrixRef& matrix, const ExportOptions& options);

/// All selected heads of one layer and batch item on one scale.
exporting::ContactSheet heads_figure(const inference::Run& run, const ExportBlocks& blocks, const MatrixRef& first,
                                     const ExportOptions& options);

/// "mask causal, padding masked, fill -inf": one line.
std::string mask_in_words(const attention::MaskSpec& mask);

}  // namespace headlight::app
