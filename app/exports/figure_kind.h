#pragma once

#include "app/exports/figures.h"
#include "export/drawing.h"
#include "export/file_name.h"
#include "inference/language_model.h"

namespace headlight::capture {
class CaptureFile;
}

namespace headlight::app {

/// What one figure is of.
struct FigureSubject {
  const model::ModelInput& input;
  const inference::Prompt* prompt = nullptr;           ///< of a model's text or a capture; else null
  const inference::LanguageModel* model = nullptr;     ///< likewise
  const model::Network* network = nullptr;             ///< never null where ExportBlocks::predicts
  const model::ModelInput* reference_input = nullptr;  ///< of the run that is compared with; null: not known, or none
  const capture::CaptureFile* capture = nullptr;       ///< that is shown instead of a network's run; null: a network's
  ExportBlocks blocks;                                 ///< of a kind of attention
  MatrixRef matrix;                                    ///< one of figures_of()
  const ExportOptions& options;
  exporting::DrawingFormat format = exporting::DrawingFormat::Svg;
  std::string changes = {};  ///< changes_note() of the run
};

/// For what there is one figure.
enum class FigureScope : std::uint8_t { Head, Layer, Attention };

/// Bytes of a figure beside the values of its matrices: titles, labels, lines, letters. PNGs are of 192 dpi.
struct FigureBytes {
  double png = 0.0, svg = 0.0, pdf = 0.0;
  double png_token = 0.0, svg_token = 0.0, pdf_token = 0.0;  ///< for each token of the queries
};

/// A kind of figure that an export writes: a line of figure_kinds().
struct FigureKind {
  std::string_view id;     ///< "lines": --views, files and sessions name it
  std::string_view label;  ///< of its switch: "Lines"
  std::string_view help;   ///< "the heads of a layer as lines from queries to keys": behind "id: "
  FigureScope scope = FigureScope::Head;
  FigureBytes bytes = {};          ///< measured with captions-gpt2 and 13 and 72 tokens
  bool draws_values = false;       ///< of whole maps, so that its files grow with them
  bool is_of_stages = false;       ///< one for each stage that is written; else of the weights, or of what it chooses
  bool takes_means = false;        ///< of a mean over heads
  bool takes_norms = false;        ///< of norms in place of weights
  bool takes_differences = false;  ///< of two runs
  bool takes_parts = false;        ///< of chosen rows and columns
  /// Why there is none beyond that; empty: there is one. Null: never.
  std::string (*refusal)(const ExportBlocks& blocks) = nullptr;
  /// As draw_figure(), which calls it, without what is said of every figure.
  std::unique_ptr<exporting::Drawing> (*draw)(const FigureSubject& subject, FigureNumbers& numbers);
};

extern const FigureKind kHeadFigure, kHeadsFigure, kGridFigure, kModelFigure, kLinesFigure, kTextFigure, kStepsFigure,
    kMetricsFigure, kPredictionsFigure, kPairFigure;

/// All kinds, in the order of their switches.
std::span<const FigureKind* const> figure_kinds();
/// Null: there is no such kind.
const FigureKind* find_figure_kind(std::string_view id);
/// Those of an export: the chosen ones, or each head's and each layer's.
std::vector<const FigureKind*> figure_kinds_of(const ExportOptions& options);

/// Why the selection has no such figure; empty: it has.
std::string figure_refusal(const FigureKind& kind, const ExportBlocks& blocks);
/// The figure of a line's own tokens, without padding, with what its run was changed by in caption and metadata. Null: its
/// numbers aren't all known yet. Throws Error in one line where it can't be drawn.
std::unique_ptr<exporting::Drawing> draw_figure(const FigureKind& kind, const FigureSubject& subject,
                                                FigureNumbers& numbers);
template <typename Figure>
void begin_figure(Figure& figure, const FigureSubject& subject, const FigureKind& kind, std::string title) {
  begin_figure(figure, subject.options, subject.blocks, subject.matrix, kind, std::move(title));
}

/// The figures of a stage, by layer, batch item and head.
std::vector<MatrixRef> figures_of(const FigureKind& kind, const ExportBlocks& blocks, attention::Stage stage);
/// The name of its file.
std::string figure_file(const FigureKind& kind, const exporting::FileNaming& naming, const MatrixRef& matrix, HeadMean mean,
                        std::string_view extension);

}  // namespace headlight::app
