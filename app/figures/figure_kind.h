#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/engine/analyses/analysis_query.h"
#include "app/engine/engine.h"
#include "app/figures/plan.h"
#include "export/figure.h"
#include "export/file_name.h"
#include "inference/language_model.h"

namespace headlight::capture {
class CaptureFile;
}

namespace headlight::app {

class JsonReader;

/// The source of a figure's numbers: the run that the task names, which begin() gets. Numbers that were read are kept, so
/// that a figure may be drawn again. Without begin() all numbers are 0 and there are no others: they lay a figure out as its
/// own would.
struct FigureNumbers {
  EvaluationSubject evaluated = {};
  std::shared_ptr<const AnalysisSubject> subject = {};
  Checkpoint checkpoint = {};  ///< may be empty
  /// Values along an edge of each of so many matrices that are worth reading: fewer than `most` where the figure is small.
  std::uint32_t (*edge)(std::uint32_t most, std::size_t maps) = [](std::uint32_t most, std::size_t) { return most; };
  double expected = 0.0, read = 0.0;  ///< cells
  std::map<TileQuery, std::shared_ptr<const attention::Tile>> tiles = {};
  std::map<AnalysisQuery, std::shared_ptr<const AnalysisResult>> analyses = {};

  Task<void> begin();
  /// Evaluates what isn't known, together.
  Task<std::vector<std::shared_ptr<const attention::Tile>>> tiles_of(std::vector<TileQuery> queries);
  /// Returns the complete finding of an analysis. Throws Error where it can't be done.
  Task<std::shared_ptr<const AnalysisResult>> analysis(AnalysisQuery query);
  /// The logits of a position as a layer's state gives them. Only where the run has any.
  Task<std::shared_ptr<const Prediction>> prediction(PredictionQuery query);
};
using DrawingTask = Task<std::unique_ptr<exporting::Drawing>>;

/// What one figure is of.
struct FigureSubject {
  RunSource::Source source;                           ///< with network and input
  const model::ModelInput* baseline_input = nullptr;  ///< of the run that is compared with; null: not known, or none
  ExportBlocks blocks;                                ///< of a kind of attention
  MatrixRef matrix;                                   ///< one of figures_of()
  const ExportOptions& options;
  exporting::DrawingFormat format = exporting::DrawingFormat::Svg;
  std::string changes = {};  ///< changes_note() of the run

  const model::ModelInput& input() const { return *source.input; }
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
  std::string_view help;   ///< "the heads of a layer as lines from queries to keys": after "id: "
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
  std::string_view view = {};  ///< whose own figure it is, which ExportOptions::write_view writes; empty: `draw` draws it
  /// As draw_figure(), which calls it, without what is said of every figure.
  DrawingTask (*draw)(const FigureSubject& subject, FigureNumbers& numbers) = nullptr;
};

extern const FigureKind kHeadFigure, kHeadsFigure, kGridFigure, kModelFigure, kLinesFigure, kTextFigure, kStepsFigure,
    kMetricsFigure, kPredictionsFigure, kPairFigure, kRetrievalFigure, kPromptsFigure, kCheckpointsFigure;
inline constexpr std::size_t kFiguresOfViews = 3;  ///< the last kinds, which commands alone write

/// All kinds, in the order of their switches.
std::span<const FigureKind* const> figure_kinds();
/// Null: there is no such kind.
const FigureKind* find_figure_kind(std::string_view id);
/// Those of an export: the chosen ones, or each head's and each layer's.
std::vector<const FigureKind*> figure_kinds_of(const ExportOptions& options);

/// Why the selection has no such figure; empty: it has.
std::string figure_refusal(const FigureKind& kind, const ExportBlocks& blocks);
/// The figure of a line's own tokens, without padding, with what its run was changed by in caption and metadata. Null: there
/// are no numbers to lay it out by. Throws Error in one line where it can't be drawn.
DrawingTask draw_figure(const FigureKind& kind, const FigureSubject& subject, FigureNumbers& numbers);
/// The figures of a stage, by layer, batch item and head.
std::vector<MatrixRef> figures_of(const FigureKind& kind, const ExportBlocks& blocks, attention::Stage stage);
/// What a file of it takes: what the kind has beside values, and the cells of the heads that it shows. An estimate.
double figure_bytes(const FigureKind& kind, const ExportBlocks& blocks, attention::Stage stage, ExportFormat format,
                    std::uint32_t dpi);
/// The name of its file.
std::string figure_file(const FigureKind& kind, const exporting::FileNaming& naming, const MatrixRef& matrix, HeadMean mean,
                        std::string_view extension);

/// How figures look: an object, a member for each option.
nlohmann::json describe_look(const Choices& look);
/// The same with what their numbers are.
nlohmann::json describe_style(const ExportOptions& options);
/// Reads what describe_look() wrote; members that aren't there stay. Throws Error naming the member that is wrong.
void read_look(const JsonReader& figure, Choices& look);

/// A session file's text with the member "figure": what the figure shows, and how. Empty where the options have no session.
std::string figure_session(const ExportOptions& options, const ExportBlocks& blocks, const MatrixRef& matrix,
                           const FigureKind& kind);

/// The options that made a figure, without inputs, formats and folder. `baseline`: of the figure's session, what a figure of
/// a difference subtracts. Throws Error naming the member that is wrong.
ExportOptions options_of_figure(const nlohmann::json& figure, const SharedValue<BaselineRun>& baseline = {});

/// Values along an edge of one figure, and of one of a sheet's panels; more cells are pooled on the device.
inline constexpr std::uint32_t kFigureEdge = 1024, kPanelEdge = 256;
/// Matrices with at most `edge` values an edge, each side pooled on the device as far as it needs; `instead`: other
/// quantities of the same places. Of several ranges of rows, which have no squares in common, every value is a cell.
Task<std::vector<exporting::FigureMap>> read_maps(FigureNumbers& numbers, const ExportBlocks& blocks,
                                                  std::vector<MatrixRef> matrices, std::uint32_t edge,
                                                  std::vector<QuantityId> instead);
/// Cells that read_maps() evaluates of a stage's matrix.
double figure_cells(const ExportBlocks& blocks, attention::Stage stage);

/// Ground, letters, parts and size as the options say; colours are those of any figure.
exporting::FigureStyle page_style(const Choices& options);

/// A view's figure on the page that the options say: where they have a width, with maps as large as it leaves room for.
/// Throws UsageError where it has none; `of` is the view's id.
std::unique_ptr<exporting::Drawing> on_page(const exporting::Drawing& figure, std::string_view of, const Choices& options);

/// Colours, ground, letters and size as the options say.
exporting::FigureStyle figure_style(const ExportBlocks& blocks, attention::Stage stage, const ExportOptions& options);

/// What was computed, in a line: "captions-gpt2, d_model 256, 8 heads, …; mask causal".
std::string settings_in_words(const ExportBlocks& blocks, const ExportOptions& options);

/// "cross, layer 1, head 3, batch item 0": what isn't needed to tell them apart is left out.
std::string figure_place(const ExportBlocks& blocks, const MatrixRef& matrix, bool names_head);

/// The tokens along a matrix that is drawn.
struct FigureAxes {
  exporting::FigureAxis rows, columns;
};
/// `capture`: that is shown, whose tokens may be patches of an image; null: a network's run.
FigureAxes figure_axes(const model::ModelInput& input, const ExportBlocks& blocks, const MatrixRef& matrix,
                       const ExportOptions& options, const capture::CaptureFile* capture = nullptr);

/// A matrix with title, settings, tokens and colour bar.
exporting::HeatmapFigure matrix_figure(exporting::FigureMap map, const model::ModelInput& input, const ExportBlocks& blocks,
                                       const MatrixRef& matrix, const ExportOptions& options,
                                       const capture::CaptureFile* capture = nullptr);

/// Adds maps with their titles, and what their axes are.
Task<void> add_panels(exporting::ContactSheet& sheet, FigureNumbers& numbers, const ExportBlocks& blocks,
                      const std::vector<std::pair<MatrixRef, std::string>>& maps, std::uint32_t edge);

/// changes_note() of the run on screen, beside the one that it is compared with.
std::string changes_on_screen(const State& state, const EngineResult& result);
/// What a figure says below it: `changes`, the text of a line of the batch and, where it is another one, that of the
/// baseline.
std::string caption(const std::string& changes, const model::ModelInput& input, std::uint32_t item, const Source& source,
                    const BaselineRun* baseline);
/// "captions-gpt2": of a capture its file, of the playground "seed 1".
std::string source_name(const Source& source);

/// Gives maps of weights that stand beside each other one scale, from 0 to the largest of all; those that have limits, or a
/// scale for each row, keep theirs.
void share_scale(std::vector<exporting::HeatmapFigure>& panels);

/// Title (the options' own, or `title`), settings, style and session of a kind's figure.
template <typename Figure>
void begin_figure(Figure& figure, const ExportOptions& options, const ExportBlocks& blocks, const MatrixRef& matrix,
                  const FigureKind& kind, const std::string& title) {
  figure.title = options[kFigureLook.title].empty() ? title : options[kFigureLook.title];
  figure.subtitle = settings_in_words(blocks, options);
  figure.style = figure_style(blocks, matrix.stage, options);
  figure.session = figure_session(options, blocks, matrix, kind);
}
template <typename Figure>
void begin_figure(Figure& figure, const FigureSubject& subject, const FigureKind& kind, std::string title) {
  begin_figure(figure, subject.options, subject.blocks, subject.matrix, kind, std::move(title));
}

}  // namespace headlight::app
