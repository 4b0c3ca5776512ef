#pragma once

#include <string>

#include "app/exports/job.h"
#include "app/exports/numbers.h"
#include "app/exports/plan.h"
#include "export/figure.h"

namespace headlight::app {

/// Values along an edge of one figure, and of one of a sheet's panels; more cells are pooled on the device.
inline constexpr std::uint32_t kFigureEdge = 1024, kPanelEdge = 256;
/// The power of two by which a matrix is pooled to have at most `edge` values an edge.
std::uint32_t figure_pool(std::uint32_t rows, std::uint32_t columns, std::uint32_t edge);

/// One matrix with title, settings, tokens and colour bar. Matrices too large for an image come pooled from the device.
exporting::HeatmapFigure matrix_figure(const Runs& runs, const model::ModelInput& input, const ExportBlocks& blocks,
                                       const MatrixRef& matrix, const ExportOptions& options,
                                       const Checkpoint& checkpoint = {});

/// The same of a map that is known.
exporting::HeatmapFigure matrix_figure(exporting::FigureMap map, const model::ModelInput& input, const ExportBlocks& blocks,
                                       const MatrixRef& matrix, const ExportOptions& options);

/// All selected heads of one layer and batch item on one scale.
exporting::ContactSheet heads_figure(const Runs& runs, const ExportBlocks& blocks, const MatrixRef& first,
                                     const ExportOptions& options, const Checkpoint& checkpoint = {});

/// What was computed, in a line: "captions-gpt2, d_model 256, 8 heads, …; mask causal".
std::string settings_in_words(const ExportBlocks& blocks, const ExportOptions& options);

/// "mask causal, padding masked, fill -inf": one line.
std::string mask_in_words(const attention::MaskSpec& mask);

}  // namespace headlight::app
