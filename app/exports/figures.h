#pragma once

#include "app/engine/engine.h"
#include "app/exports/figure_numbers.h"
#include "app/exports/figure_record.h"
#include "app/exports/plan.h"
#include "export/figure.h"

namespace headlight::capture {
class CaptureFile;
}

namespace headlight::app {

/// Values along an edge of one figure, and of one of a sheet's panels; more cells are pooled on the device.
inline constexpr std::uint32_t kFigureEdge = 1024, kPanelEdge = 256;
/// A matrix with at most `edge` values an edge, each side pooled on the device as far as it needs; `instead`: another
/// quantity of the same places. Of several ranges of rows, which have no squares in common, every value is a cell. Nullopt:
/// it isn't all known yet.
std::optional<exporting::FigureMap> read_map(FigureNumbers& numbers, const ExportBlocks& blocks, const MatrixRef& matrix,
                                             std::uint32_t edge, std::optional<QuantityId> instead = {});
/// Cells that read_map() evaluates of a stage's matrix.
double figure_cells(const ExportBlocks& blocks, attention::Stage stage);

/// Throws Error where the options name no colour map.
view::ColorMap color_map_of(const ExportOptions& options);
/// Colours, ground, letters and size as the options say.
exporting::FigureStyle figure_style(const ExportBlocks& blocks, attention::Stage stage, const ExportOptions& options);

/// What was computed, in a line: "captions-gpt2, d_model 256, 8 heads, …; mask causal".
std::string settings_in_words(const ExportBlocks& blocks, const ExportOptions& options);

/// "cross, layer 1, head 3, batch item 0": what isn't needed to tell is left out.
std::string figure_place(const ExportBlocks& blocks, const MatrixRef& matrix, bool names_head);

/// The tokens along a matrix that is drawn.
struct FigureAxes {
  exporting::FigureAxis rows, columns;
};
/// `capture`: that is shown, whose tokens may be patches of an image; null: a network's run.
FigureAxes figure_axes(const model::ModelInput& input, const ExportBlocks& blocks, const MatrixRef& matrix,
                       const ExportOptions& options, const capture::CaptureFile* capture = nullptr);

/// Title (the options' own, or `title`), settings, style and session of a kind's figure.
template <typename Figure>
void begin_figure(Figure& figure, const ExportOptions& options, const ExportBlocks& blocks, const MatrixRef& matrix,
                  const FigureKind& kind, const std::string& title) {
  figure.title = options.title.empty() ? title : options.title;
  figure.subtitle = settings_in_words(blocks, options);
  figure.style = figure_style(blocks, matrix.stage, options);
  figure.session = figure_session(options, blocks, matrix, kind);
}

/// One matrix with title, settings, tokens and colour bar. Matrices too large for an image come pooled from the device.
exporting::HeatmapFigure matrix_figure(const Runs& runs, const model::ModelInput& input, const ExportBlocks& blocks,
                                       const MatrixRef& matrix, const ExportOptions& options);

/// The same of a map that is known.
exporting::HeatmapFigure matrix_figure(exporting::FigureMap map, const model::ModelInput& input, const ExportBlocks& blocks,
                                       const MatrixRef& matrix, const ExportOptions& options,
                                       const capture::CaptureFile* capture = nullptr);

/// All selected heads of one layer and batch item on one scale. Nullopt: they aren't all known yet.
std::optional<exporting::ContactSheet> heads_figure(FigureNumbers& numbers, const ExportBlocks& blocks,
                                                    const MatrixRef& first, const ExportOptions& options);

/// changes_note() of the run on screen, beside the one that it is compared with.
std::string changes_on_screen(const State& state, const EngineResult& result);

/// "mask causal, padding masked, fill -inf": one line.
std::string mask_in_words(const attention::MaskSpec& mask);

/// Gives maps of weights that stand beside each other one scale, from 0 to the largest of all; those that have limits, or a
/// scale for each row, keep theirs.
void share_scale(std::vector<exporting::HeatmapFigure>& panels);

}  // namespace headlight::app
