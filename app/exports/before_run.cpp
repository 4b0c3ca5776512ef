#include "app/exports/before_run.h"

#include <algorithm>
#include <utility>

#include "app/exports/figure_kind.h"
#include "app/state/usage.h"

namespace headlight::app {
namespace {

using attention::Stage;

/// Numbers that are all 0 and cost nothing: they lay a figure out as its own would.
class NoNumbers final : public FigureNumbers {
 public:
  std::shared_ptr<const attention::Tile> tile(const TileQuery& query) override {
    auto blank = std::make_shared<attention::Tile>();
    blank->request = stage_request(query);
    blank->values.resize(std::size_t{query.tile_rows()} * query.tile_columns());
    return blank;
  }
  std::shared_ptr<const AnalysisResult> analysis(const AnalysisQuery& /*query*/) override { return nullptr; }
  std::shared_ptr<const Prediction> prediction(const PredictionQuery& /*query*/) override { return nullptr; }
  /// A sheet's panels have their size whatever they show.
  std::uint32_t edge(std::uint32_t most, std::size_t maps) const override { return maps > 1 ? std::min(most, 16U) : most; }
};

/// Does a figure show other layers than the chosen ones, or what the network makes of them?
bool needs_whole_network(const FigureKind& kind) {
  return &kind == &kModelFigure || &kind == &kMetricsFigure || &kind == &kPredictionsFigure;
}

bool writes_figures_of(const ExportOptions& options) { return std::ranges::any_of(options.formats, is_figure); }

/// Is anything of the layers' feed-forward written?
bool reads_feed_forward(const ExportOptions& options) {
  const std::vector<const FigureKind*> kinds = figure_kinds_of(options);
  const bool is_drawn = writes_figures_of(options) && std::ranges::find(kinds, &kStepsFigure) != kinds.end();
  return is_drawn || std::ranges::any_of(options.stages, [](Stage stage) { return stage > Stage::Attended; });
}

void expect_room(const FigureKind& kind, const exporting::Drawing& drawing, exporting::DrawingFormat format) {
  const double scale = drawing.output().png_scale;
  const double width = static_cast<double>(drawing.size().x), height = static_cast<double>(drawing.size().y);
  const double largest = exporting::largest_edge(format), longest = std::max(width, height);
  if (format == exporting::DrawingFormat::Png && longest * scale > largest) {
    const auto dpi = static_cast<int>(largest / longest * 96.0);
    const std::string finer = dpi < static_cast<int>(kLeastDpi) ? std::string() : fmt::format("--dpi {} at most, or ", dpi);
    throw UsageError(
        "{}: a PNG of {:.0f} × {:.0f} pixels is too large, at most {:.0f} on each side; choose {}fewer --layers or "
        "--heads, or --format svg",
        kind.id, width * scale, height * scale, largest, finer);
  }
  if (format == exporting::DrawingFormat::Pdf && longest > largest) {
    throw UsageError(
        "{}: a page of {:.0f} × {:.0f} is too large for a PDF, at most {:.0f} on each side; choose fewer --layers or "
        "--heads, or --format svg",
        kind.id, width, height, largest);
  }
}

}  // namespace

RunShapes shapes_before_run(const model::Network& network, const model::ModelInput& input) {
  RunShapes run{.blocks = network.blocks(), .shapes = {}, .input = &input};
  for (const model::BlockRef block : run.blocks)
    run.shapes[block] = inference::shape_of(network.layer(block), block.kind, input);
  return run;
}

std::shared_ptr<const model::Network> needed_network(const RunSource::Source& source, const ExportOptions& options) {
  const model::Layers& layers = *source.network->layers;
  const bool is_of_layers = options.layers && options.mean != HeadMean::Kind && layers.decoder.empty();
  const bool writes_results = options.hidden || options.logits || options.reference.has_value();
  const bool draws_whole =
      writes_figures_of(options) &&
      std::ranges::any_of(figure_kinds_of(options), [](const FigureKind* kind) { return needs_whole_network(*kind); });
  // An expression may ask how many layers there are.
  const bool asks = std::ranges::any_of(options.inputs.masks.by_kind, &attention::MaskSpec::has_expressions);
  const std::size_t count = is_of_layers ? options.layers->ranges().back().end : layers.encoder.size();
  if (!is_of_layers || writes_results || draws_whole || asks || count > layers.encoder.size()) return source.network;
  auto first = std::make_shared<model::Layers>(layers);
  first->encoder.resize(count);
  if (!reads_feed_forward(options)) {
    model::AttentionLayer& last = first->encoder.back();
    last.feed_forward.reset();
    last.feed_forward_norms = {};
    last.is_parallel = false;
  }
  first->encoder_norm.reset();
  first->unembedding.reset();
  auto network = std::make_shared<model::Network>(*source.network);
  network->layers = std::move(first);
  return network;
}

void expect_room_for_figures(const RunSource::Source& source, const ExportOptions& options,
                             const std::vector<ExportBlocks>& blocks) {
  if (!writes_figures_of(options)) return;
  NoNumbers numbers;
  for (const FigureKind* kind : figure_kinds_of(options)) {
    for (const ExportBlocks& selected : blocks) {
      if (kind->scope == FigureScope::Head || !figure_refusal(*kind, selected).empty()) continue;
      for (const ExportFormat format : options.formats) {
        if (!is_figure(format) || format == ExportFormat::Svg) continue;
        const auto as = format == ExportFormat::Png ? exporting::DrawingFormat::Png : exporting::DrawingFormat::Pdf;
        const Stage stage = kind->is_of_stages ? options.stages.front() : Stage::Weights;
        const std::vector<MatrixRef> figures = figures_of(*kind, selected, stage);
        if (figures.empty() || !selected.shape.extent(stage)) continue;
        const std::unique_ptr<exporting::Drawing> drawing = draw_figure(*kind,
                                                                        {.input = *source.input,
                                                                         .prompt = source.prompt.get(),
                                                                         .model = source.model.get(),
                                                                         .network = source.network.get(),
                                                                         .capture = source.capture.get(),
                                                                         .blocks = selected,
                                                                         .matrix = figures.front(),
                                                                         .options = options,
                                                                         .format = as},
                                                                        numbers);
        if (drawing) expect_room(*kind, *drawing, as);
      }
    }
  }
}

}  // namespace headlight::app
