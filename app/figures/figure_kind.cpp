#include "app/figures/figure_kind.h"

#include "app/engine/query_queue.h"

namespace headlight::app {

namespace {

using attention::Stage;

constexpr std::array kKindsOfFigures = {&kHeadFigure,        &kHeadsFigure, &kGridFigure,      &kModelFigure,
                                        &kLinesFigure,       &kTextFigure,  &kStepsFigure,     &kMetricsFigure,
                                        &kPredictionsFigure, &kPairFigure,  &kRetrievalFigure, &kPromptsFigure,
                                        &kCheckpointsFigure};

/// Bytes of a value of a figure's map.
constexpr double kWeightValue = 0.25, kSignedValue = 3.5;
/// Bytes of a cell as a rectangle of SVG, and up to how many along an edge are drawn so.
constexpr double kSvgCell = 100.0;
constexpr std::uint32_t kMaxSvgCells = 64;
constexpr double kMeasuredDpi = 192.0;  // of FigureBytes' PNGs

bool is_part(const ExportBlocks& blocks) {
  return blocks.queries.count() < blocks.shape.queries || blocks.keys.count() < blocks.shape.keys;
}

}  // namespace

const FigureKind kRetrievalFigure{.id = "retrieval",
                                  .label = "Retrieval",
                                  .help = "which heads copy a needle from a haystack of the text, as Heads draws it",
                                  .scope = FigureScope::Attention,
                                  .bytes = {.png = 60e3, .svg = 20e3, .pdf = 20e3},
                                  .view = "heads"};

const FigureKind kPromptsFigure{.id = "prompts",
                                .label = "Prompts",
                                .help = "the mean of an experiment over a set of prompts (--prompts, --experiment)",
                                .scope = FigureScope::Attention,
                                .bytes = {.png = 100e3, .svg = 36e3, .pdf = 20e3},
                                .view = "prompts"};

const FigureKind kCheckpointsFigure{.id = "checkpoints",
                                    .label = "Checkpoints",
                                    .help = "a metric of all heads (--curves) over the steps of a training beside the model",
                                    .scope = FigureScope::Attention,
                                    .bytes = {.png = 60e3, .svg = 30e3, .pdf = 20e3},
                                    .view = "checkpoints"};

std::span<const FigureKind* const> figure_kinds() { return kKindsOfFigures; }

const FigureKind* find_figure_kind(std::string_view id) {
  const auto found = std::ranges::find(kKindsOfFigures, id, &FigureKind::id);
  return found == kKindsOfFigures.end() ? nullptr : *found;
}

std::vector<const FigureKind*> figure_kinds_of(const ExportOptions& options) {
  return options.views.empty() ? std::vector{&kHeadFigure, &kHeadsFigure} : options.views;
}

std::string figure_refusal(const FigureKind& kind, const ExportBlocks& blocks) {
  const char* why = nullptr;
  if (blocks.mean != HeadMean::None && !kind.takes_means) why = "it has no means over heads";
  if (blocks.weighs_values && !kind.takes_norms) why = "it shows weights, not norms";
  if (blocks.is_difference && !kind.takes_differences) why = "it shows one run, not what two differ in";
  if (is_part(blocks) && !kind.takes_parts) why = "it shows all queries and keys";
  const bool is_of_some = blocks.layers.size() < blocks.all_layers || blocks.heads.size() < blocks.shape.heads;
  if (!kind.view.empty() && is_of_some) why = "it shows all layers and heads";
  if (why != nullptr) return why;
  return kind.refusal == nullptr ? std::string() : kind.refusal(blocks);
}

namespace {

/// The search for maps as large as a chosen width leaves room for: the caller draws with next() while there is one.
class WidthSearch {
 public:
  WidthSearch(std::string_view of, float width_mm) : of_(of), width_mm_(width_mm), largest_(4.0F * width_mm) {}

  /// The longer side of a map, mm; of several panels in a row each has a part of it.
  std::optional<float> next() const {
    constexpr int kTries = 10;  // to less than a hundredth of the largest
    if (tries_ > kTries) return std::nullopt;
    return tries_ == 0 ? fitting_ : 0.5F * (fitting_ + largest_);
  }
  /// Throws UsageError where not even the smallest maps fit.
  void take(std::unique_ptr<exporting::Drawing> drawing) {
    const float edge = *next();
    const bool fits = drawing->size().x < width_mm_ * exporting::kUnitsPerMillimetre + 0.01F;
    if (!fits && tries_ == 0) {
      throw UsageError(
          "{}: {:g} mm are too narrow, at least {:.0f} mm are needed; choose a larger --width, fewer heads, or --hide "
          "labels,bar",
          of_, width_mm_, std::ceil(drawing->size().x / exporting::kUnitsPerMillimetre));
    }
    (fits ? fitting_ : largest_) = edge;
    if (fits) found_ = std::move(drawing);
    ++tries_;
  }
  std::unique_ptr<exporting::Drawing> found() { return std::move(found_); }

 private:
  std::string_view of_;
  float width_mm_, largest_, fitting_ = kMinMapEdge_mm;
  int tries_ = 0;
  std::unique_ptr<exporting::Drawing> found_;
};

DrawingTask draw_as_wide(const FigureKind& kind, const FigureSubject& subject, FigureNumbers& numbers) {
  ExportOptions sized = subject.options;
  const FigureSubject own{subject.source, subject.baseline_input, subject.blocks, subject.matrix, sized, subject.format};
  WidthSearch search(kind.id, sized[kFigureDetails.width_mm]);
  while (const std::optional<float> edge = search.next()) {
    sized.set(kFigureLook.map_edge_mm, *edge);
    std::unique_ptr<exporting::Drawing> drawing = co_await kind.draw(own, numbers);
    if (!drawing) co_return nullptr;
    search.take(std::move(drawing));
  }
  co_return search.found();
}

}  // namespace

std::unique_ptr<exporting::Drawing> on_page(const exporting::Drawing& figure, std::string_view of, const Choices& options) {
  exporting::FigureStyle page = page_style(options);
  const std::string title = options[kFigureLook.title];
  if (page.width <= 0.0F) return figure.on_page(page, title);
  WidthSearch search(of, options[kFigureDetails.width_mm]);
  while (const std::optional<float> edge = search.next()) {
    page.map_edge = *edge * exporting::kUnitsPerMillimetre;
    search.take(figure.on_page(page, title));
  }
  return search.found();
}

DrawingTask draw_figure(const FigureKind& kind, const FigureSubject& subject, FigureNumbers& numbers) {
  if (kind.draw == nullptr) throw Error("{}: only headlight export --views and the view {} draw it", kind.id, kind.view);
  const ExportOptions& options = subject.options;
  FigureSubject own = subject;
  own.blocks = without_padding(subject.blocks, subject.input(), subject.matrix.batch);
  const bool shows_both = options.baseline && (options.writes_differences || &kind == &kPairFigure);
  DrawingTask task = options[kFigureDetails.width_mm] > 0.0F ? draw_as_wide(kind, own, numbers) : kind.draw(own, numbers);
  std::unique_ptr<exporting::Drawing> drawing = co_await std::move(task);
  co_return exporting::with_note(std::move(drawing),
                                 caption(subject.changes, subject.input(), subject.matrix.batch, options.inputs.source,
                                         shows_both ? &*options.baseline : nullptr),
                                 options[kFigureDetails.is_dark], options[kFigureParts.subtitle]);
}

std::vector<MatrixRef> figures_of(const FigureKind& kind, const ExportBlocks& blocks, attention::Stage stage) {
  const std::vector<std::uint32_t> heads = heads_of(blocks, stage);
  if (&kind == &kHeadsFigure && heads.size() < 2) return {};  // it would show what the head's own figure shows
  std::vector<MatrixRef> figures = matrices_of(blocks, stage);
  std::erase_if(figures, [&](const MatrixRef& matrix) {
    const bool is_first_head = matrix.head == heads.front(), is_first_layer = matrix.block == blocks.layers.front();
    if (!kind.view.empty() && matrix.batch != blocks.batch.first) return true;  // a window shows one line
    return (kind.scope != FigureScope::Head && !is_first_head) || (kind.scope == FigureScope::Attention && !is_first_layer);
  });
  return figures;
}

double figure_bytes(const FigureKind& kind, const ExportBlocks& blocks, Stage stage, ExportFormat format,
                    std::uint32_t dpi) {
  const FigureBytes& bytes = kind.bytes;
  const std::uint32_t tokens = blocks.queries.count();
  double sum = format == ExportFormat::Png   ? (bytes.png + bytes.png_token * tokens) * dpi / kMeasuredDpi
               : format == ExportFormat::Svg ? bytes.svg + bytes.svg_token * tokens
                                             : bytes.pdf + bytes.pdf_token * tokens;
  if (!kind.draws_values) return sum;
  const bool is_of_head = kind.scope == FigureScope::Head;
  const auto [rows, columns] = extent_of(blocks, stage);
  TileQuery drawn{.rows = rows, .columns = columns, .pool = 1};
  pool_sides(drawn, glm::uvec2(is_of_head ? kFigureEdge : kPanelEdge));
  const bool is_drawn = format == ExportFormat::Svg && std::max(rows, columns) <= kMaxSvgCells;
  const double value = is_drawn ? kSvgCell : stage == Stage::Weights ? kWeightValue : kSignedValue;
  std::uint64_t maps = is_of_head ? 1 : heads_of(blocks, stage).size();
  if (kind.scope == FigureScope::Attention) maps *= blocks.layers.size();
  return sum + static_cast<double>(maps * drawn.tile_rows() * drawn.tile_columns()) * value;
}

std::string figure_file(const FigureKind& kind, const exporting::FileNaming& naming, const MatrixRef& matrix, HeadMean mean,
                        std::string_view extension) {
  if (&kind == &kHeadsFigure) return naming.contact_sheet(matrix.block, matrix.batch, matrix.stage, extension);
  const bool has_mean = mean != HeadMean::None, is_of_head = kind.scope == FigureScope::Head;
  if (kind.is_of_stages && has_mean) return naming.mean(matrix.block, mean == HeadMean::Layer, matrix.batch, extension);
  if (kind.is_of_stages) return naming.matrix(matrix.block, matrix.batch, matrix.head, matrix.stage, extension);
  exporting::FileNaming own = naming;
  own.has_differences = naming.has_differences && &kind != &kPairFigure;  // which shows both runs as they are
  return own.figure({.block = matrix.block,
                     .batch_item = matrix.batch,
                     .head = is_of_head && !has_mean ? std::optional(matrix.head) : std::nullopt,
                     .is_of_layer = kind.scope != FigureScope::Attention && mean != HeadMean::Kind,
                     .is_mean = has_mean},
                    kind.id, extension);
}

Task<void> FigureNumbers::begin() {
  Reads facts;
  facts.visit = [this](const FoundRuns& found) {
    evaluated = subject_of({.run = *found.run, .baseline = found.baseline.get(), .norms = evaluated.norms});
    subject = found.subject;
  };
  co_await std::move(facts);
}

Task<std::vector<std::shared_ptr<const attention::Tile>>> FigureNumbers::tiles_of(std::vector<TileQuery> queries) {
  std::vector<TileQuery> asked;
  for (const TileQuery& query : queries) {
    const auto [known, is_new] = tiles.try_emplace(query);
    if (known->second) continue;
    if (subject) {
      asked.push_back(query);
      continue;
    }
    auto blank = std::make_shared<attention::Tile>();
    blank->request = stage_request(query);
    blank->values.resize(std::size_t{query.tile_rows()} * query.tile_columns());
    known->second = std::move(blank);
  }
  for (std::size_t first = 0, end = 0; first < asked.size(); first = end) {
    end = end_of_group(asked, first);
    const std::vector<TileQuery> group(asked.begin() + static_cast<std::ptrdiff_t>(first),
                                       asked.begin() + static_cast<std::ptrdiff_t>(end));
    double cells = 0.0;
    const EvaluationObserver observe = [&](std::size_t evaluated_cells) {
      cells = static_cast<double>(evaluated_cells);
      if (checkpoint) checkpoint(expected > 0.0 ? std::min((read + cells) / expected, 1.0) : 0.0);
    };
    Task<std::vector<attention::Tile>> evaluation = evaluate_together(group, evaluated, observe);
    std::vector<attention::Tile> found = co_await std::move(evaluation);
    read += cells;
    for (std::size_t i = 0; i < found.size(); ++i)
      tiles[group[i]] = std::make_shared<const attention::Tile>(std::move(found[i]));
  }
  std::vector<std::shared_ptr<const attention::Tile>> known;
  for (const TileQuery& query : queries) known.push_back(tiles.at(query));
  co_return known;
}

Task<std::shared_ptr<const AnalysisResult>> FigureNumbers::analysis(AnalysisQuery query) {
  std::shared_ptr<const AnalysisResult>& result = analyses[query];
  if (!result && subject) result = co_await query.begin(*subject);
  co_return result;
}

Task<std::shared_ptr<const Prediction>> FigureNumbers::prediction(PredictionQuery query) {
  if (!subject) co_return nullptr;
  Reads reads;
  reads.logits.push_back(query.state());
  const Answers read_logits = co_await std::move(reads);
  co_return std::make_shared<const Prediction>(predict(read_logits.logits, query.keeps_logits, 0));
}

}  // namespace headlight::app
