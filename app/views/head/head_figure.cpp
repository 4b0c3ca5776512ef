#include "app/views/head/head_parts.h"

#include "app/figures/figure_kind.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/tile_numbers.h"
#include "export/figure.h"

namespace headlight::app {
namespace {

using attention::Stage;

/// Returns the options that an export of the selected map alone would have.
ExportOptions options_of(const State& state, const EngineResult& result, bool is_difference) {
  const Selection& selection = state.selection;
  ExportOptions options;
  options.stages = {shown_stage(state)};
  options.inputs = inputs_on_screen(state, result);
  if (is_difference) options.baseline = *state.compare.baseline;
  options.kind = selection.block.kind;
  options.batch = selection.batch;
  options.mean = selection.mean;
  if (selection.mean != HeadMean::Kind) options.layers = selection.block.layer.value;
  if (selection.mean == HeadMean::None) options.heads = selection.head;
  take_look(state, options);
  options.weighs_values = state.view.weighs_values;
  if (!is_difference) options.color_limits = state.view.color_limits;  // those are of one run
  if (options[kFigureLook.is_row_normalized]) options.color_limits.erase(Stage::Weights);
  return options;
}

}  // namespace

void HeadFigure::keep(Frame& frame, const GroupedHead& grouped) {
  *this = {};
  state_ = &frame.state;
  result_ = &frame.result;
  is_difference_ = head_map_shows_difference(frame);
  const Selection& selection = frame.state.selection;
  const inference::BlockShape& shape = *selected_shape(frame);
  grouping_ = grouping_text(frame);
  if (!grouping_.empty()) {
    tile_ = grouped.map().tile;
    for (const std::string& label : grouped.queries().labels) row_names_.push_back(frame.ui.unshaped(label));
    for (const std::string& label : grouped.keys().labels) columns_.push_back(frame.ui.unshaped(label));
    return;
  }
  is_too_large_ = std::uint64_t{shape.queries} * shape.keys > std::uint64_t{kFigureEdge} * kFigureEdge;
  if (is_too_large_) return;
  TileQuery all = tile_of(frame, shown_stage(frame.state), {.rows = shape.queries, .columns = shape.keys});
  pool_sides(all, glm::uvec2(kFigureEdge));
  TileQuery asked = shown_map(selection, frame.result.shapes, all, shows_norms(frame.state));
  if (is_difference_) asked.quantity = difference_of(asked.quantity);
  reach_ = shared_reach(frame, asked);
  const EngineTile* known = frame.ask(asked);
  if (known != nullptr && frame.result.is_current(asked)) tile_ = known->tile;
}

std::unique_ptr<exporting::Drawing> HeadFigure::draw() const {
  if (is_too_large_) {
    throw Error("a figure from this view has at most {0} × {0} cells; Export (Ctrl+E) writes larger maps", kFigureEdge);
  }
  if (!tile_ || !result_->network || !result_->input) return nullptr;
  ExportOptions options = options_of(*state_, *result_, is_difference_);
  if (!grouping_.empty()) options.set(kFigureDetails.row_names, RowNames::Read);  // words are those that are read
  const RunShapes run{.blocks = result_->blocks, .shapes = result_->shapes, .input = result_->input.get()};
  const ExportBlocks blocks = select_blocks(run, *result_->network, options).front();
  const MatrixRef matrix = figures_of(kHeadFigure, blocks, options.stages.front()).front();
  exporting::FigureMap map = exporting::make_map(*tile_);
  if (reach_ > 0.0F) map.largest = reach_;
  exporting::HeatmapFigure figure =
      matrix_figure(std::move(map), *result_->input, blocks, matrix, options, result_->capture.get());
  if (!grouping_.empty()) {
    figure.subtitle += "; " + grouping_;
    figure.rows.tokens = row_names_;
    figure.columns.tokens = columns_;
    figure.rows.length = tile_->request.rows;
    figure.columns.length = tile_->request.columns;
    figure.rows.thumbnails.clear();
    figure.columns.thumbnails.clear();
  }
  return exporting::make_drawing(std::move(figure), exporting::DrawingFormat::Svg);
}

}  // namespace headlight::app
