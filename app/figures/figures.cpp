#include <iterator>
#include <sstream>

#include <fmt/ranges.h>

#include "app/engine/analyses/value_reach.h"
#include "app/engine/token_words.h"
#include "app/figures/figure_kind.h"
#include "app/figures/shaded_image.h"
#include "app/shapes/quantities/tile_query.h"
#include "app/state/mask_json.h"
#include "app/state/model_changes.h"
#include "app/state/usage.h"
#include "chart/color.h"
#include "export/figure_frame.h"
#include "model/hub_cache.h"

namespace headlight::app {
namespace {

using attention::Stage;

/// Heads of a matrix: all of a mean.
std::uint32_t heads_behind(const ExportBlocks& blocks) {
  if (blocks.mean == HeadMean::None) return 1;
  return blocks.shape.heads * (blocks.mean == HeadMean::Kind ? blocks.all_layers : 1);
}

/// The index at which padding begins along the rows or columns of a matrix, of which `shown` are drawn; left padding is
/// shown by its labels only.
std::uint32_t real_tokens(const model::TokenBatch& tokens, std::uint32_t batch, const IndexRange& shown) {
  const std::uint32_t end = batch < tokens.lengths.size() ? tokens.start(batch) + tokens.lengths[batch] : tokens.length;
  return std::min(end - std::min(end, shown.first), shown.count());
}

std::string mask_in_words(const attention::MaskSpec& mask) {
  std::string text = "mask " + attention::to_string(mask.rule);
  for (const MaskPart& part : mask_parts()) {
    if (part.is_set(mask)) text += fmt::format(", {}", part.name);
  }
  text += mask.rule.key_padding ? ", padding masked" : ", padding visible";
  return text + ", fill " + std::string(attention::to_string(mask.fill));
}

constexpr std::size_t kLongest = 240;  ///< bytes of a text in a caption

/// The line of a text that a batch of `lines` has as its item, in quotes; of a long one the beginning and the end.
std::string quoted_line(const std::string& text, std::uint32_t lines, std::uint32_t item) {
  std::istringstream rest(text);
  std::string line = text;
  for (std::uint32_t i = 0; lines > 1 && i <= item; ++i) std::getline(rest, line);
  return text.empty() ? text : fmt::format("\u201C{}\u201D", one_line(line, kLongest));
}

}  // namespace

std::string source_name(const Source& source) {
  return match(
      source, [](const Playground& playground) { return fmt::format("seed {}", playground.settings.seed); },
      [](const Notebook& notebook) { return notebook.name; },
      [](const Model& model) { return model::model_name(model.path); },
      [](const Capture& capture) { return utf8(std::filesystem::path(capture.path).filename()); });
}

std::string settings_in_words(const ExportBlocks& blocks, const ExportOptions& options) {
  const RunInputs& inputs = options.inputs;
  const inference::BlockShape& shape = blocks.shape;
  const std::string less = blocks.is_difference && options.baseline ? "; minus " + options.baseline->name : std::string();
  std::string text = source_name(inputs.source);
  if (is_capture(inputs.source)) text.insert(0, "captured in ");
  if (is_model(inputs.source) || is_playground(inputs.source)) text += fmt::format(", d_model {}", shape.d_model);
  const std::string heads = counted(shape.heads, "head");
  if (is_capture(inputs.source)) {
    return fmt::format("{}, {} of {}{}", text, counted(blocks.all_layers, "layer"), heads, less);
  }
  text += fmt::format(", {}, d_k {}, d_v {}, scale {:.4g}", heads, shape.d_k, shape.d_v, static_cast<double>(blocks.scale));
  return text + "; " + mask_in_words(inputs.masks[blocks.kind]) + less;
}

std::string caption(const std::string& changes, const model::ModelInput& input, std::uint32_t item, const Source& source,
                    const BaselineRun* baseline) {
  const std::uint32_t lines = input.source.batch;
  std::string text = quoted_line(typed_text(source), lines, item);
  const std::string other = baseline != nullptr ? quoted_line(typed_text(baseline->inputs.source), lines, item) : "";
  if (!other.empty() && other != text) text += ", compared with " + other;
  if (!text.empty()) {
    text.insert(0, "Text: ");
  } else if (const std::vector<std::string>* labels = input.source.labels(item)) {  // of ids, or a capture
    text = fmt::format("Tokens: \u201C{}\u201D", one_line(fmt::format("{}", fmt::join(*labels, " ")), kLongest));
  }
  return changes + (changes.empty() || text.empty() ? "" : ". ") + text;
}

std::string changes_on_screen(const State& state, const EngineResult& result) {
  if (!result.inputs || !result.network) return {};
  const auto changes = [&](const RunInputs& inputs) { return run_changes(inputs, result.model.get(), *result.network); };
  std::optional<std::string> compared;
  if (const SharedValue<BaselineRun>& baseline = state.compare.baseline) {
    // Of another model the name says what was changed: its training isn't known here.
    compared = names_same(baseline->inputs.source, result.inputs->source) ? changes(baseline->inputs) : baseline->name;
  }
  return changes_note(result.inputs->source, changes(*result.inputs), compared);
}

Task<std::vector<exporting::FigureMap>> read_maps(FigureNumbers& numbers, const ExportBlocks& blocks,
                                                  std::vector<MatrixRef> matrices, std::uint32_t edge,
                                                  std::vector<QuantityId> instead) {
  std::vector<TileQuery> queries;
  std::vector<std::size_t> ends;  // of each matrix's
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const MatrixRef& matrix = matrices[i];
    std::vector<TileQuery> parts = selected_parts(blocks, matrix.block, matrix.stage, matrix.batch, matrix.head);
    const auto [rows, columns] = extent_of(blocks, matrix.stage);
    if (parts.size() == 1) {
      pool_sides(parts.front(), glm::uvec2(edge));
    } else if (std::max(rows, columns) > edge) {
      throw UsageError("a figure of single queries has at most {} rows and columns; choose fewer with --queries and --keys",
                       edge);
    }
    for (TileQuery& part : parts) {
      if (!instead.empty()) part.quantity = instead[i];
      queries.push_back(part);
    }
    ends.push_back(queries.size());
  }
  const auto tiles = co_await numbers.tiles_of(queries);
  std::vector<exporting::FigureMap> maps;
  for (std::size_t i = 0, at = 0; i < ends.size(); ++i) {
    attention::Tile tile = *tiles[at];
    for (++at; at < ends[i]; ++at) {
      tile.request.rows += queries[at].rows;
      std::ranges::copy(tiles[at]->values, std::back_inserter(tile.values));
      std::ranges::copy(tiles[at]->masked, std::back_inserter(tile.masked));
    }
    maps.push_back(exporting::make_map(tile));
    const TileQuery& part = queries[at - 1];
    const auto question = reach_question(part.quantity, part.block.kind, part.batch);
    if (!question) continue;
    const std::shared_ptr<const AnalysisResult> found = co_await numbers.analysis(*question);
    if (const auto* known = dynamic_cast<const ValueReach*>(found.get())) maps.back().largest = known->reach;
  }
  co_return maps;
}

double figure_cells(const ExportBlocks& blocks, Stage stage) {
  const auto [rows, columns] = extent_of(blocks, stage);
  return static_cast<double>(rows) * columns * heads_behind(blocks) * (blocks.is_difference ? 2.0 : 1.0);
}

exporting::FigureStyle page_style(const Choices& options) {
  exporting::FigureStyle style;
  style.is_dark = options[kFigureDetails.is_dark];
  style.is_transparent = options[kFigureDetails.is_transparent];
  style.parts = shown_parts(options);
  style.font = options[kFigureDetails.font];
  style.map_edge = options[kFigureLook.map_edge_mm] * exporting::kUnitsPerMillimetre;
  style.width = options[kFigureDetails.width_mm] * exporting::kUnitsPerMillimetre;
  style.png_scale = static_cast<double>(options[kFigureLook.dpi]) / 96.0;
  return style;
}

exporting::FigureStyle figure_style(const ExportBlocks& blocks, Stage stage, const ExportOptions& options) {
  exporting::FigureStyle style = page_style(options);
  style.color_map = options[kFigureLook.color_map];
  style.scale = options[kFigureLook.is_row_normalized] ? chart::ScaleKind::PerRow
                : options[kFigureDetails.is_quantile]  ? chart::ScaleKind::Quantile
                                                       : chart::ScaleKind::Maximum;
  style.spread = options[kFigureDetails.color_spread];
  const bool is_norm = stage == Stage::Weights && options.weighs_values;
  if (const auto limits = options.color_limits.find(stage); limits != options.color_limits.end() && !is_norm)
    style.limits = limits->second;
  return quantity(quantity_of(blocks, stage)).colors == ColorKind::Diverging ? exporting::diverging(style) : style;
}

std::string figure_place(const ExportBlocks& blocks, const MatrixRef& matrix, bool names_head) {
  std::string text = blocks.prefix.empty() ? "" : std::string(model::to_string(blocks.kind)) + ", ";
  if (blocks.mean == HeadMean::Kind) {
    text += fmt::format("mean of all {} heads", blocks.all_layers * blocks.shape.heads);
  } else {
    text += fmt::format("layer {}", matrix.block.layer.value);
    if (blocks.mean == HeadMean::Layer) {
      text += fmt::format(", mean of {} heads", blocks.shape.heads);
    } else if (names_head) {
      text += fmt::format(", head {}", matrix.head);
    }
  }
  if (blocks.shape.batch > 1) text += fmt::format(", batch item {}", matrix.batch);
  return text;
}

namespace {

chart::Rgb color_of_turn(const std::string& role) {
  if (role == "user") return {31, 95, 191};
  if (role == "assistant") return {122, 63, 176};
  return role == "tool" ? chart::Rgb{179, 54, 47} : chart::Rgb{110, 118, 130};
}

/// Named tokens as ranges of those that are shown.
std::vector<exporting::FigureAxis::Band> bands_of(std::span<const model::TokenSpan> spans, const IndexSet& shown) {
  std::vector<exporting::FigureAxis::Band> bands;
  const std::vector<std::uint32_t> indices = shown.indices();
  const auto place = [&](std::uint32_t token) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(indices, token) - indices.begin());
  };
  for (const model::TokenSpan& span : spans) {
    const std::uint32_t first = place(span.first), end = place(span.end);
    if (end > first) bands.push_back({.name = span.name, .first = first, .end = end, .color = color_of_turn(span.name)});
  }
  return bands;
}

}  // namespace

FigureAxes figure_axes(const model::ModelInput& input, const ExportBlocks& blocks, const MatrixRef& matrix,
                       const ExportOptions& options, const capture::CaptureFile* capture) {
  const Quantity& shown = quantity(quantity_of(blocks, matrix.stage));
  const bool is_map = shown.is_map();
  const bool rows_are_keys = shown.rows == Axis::KeyToken;
  MatrixAxes axes = matrix_axes(input, blocks, matrix);
  FigureAxes figure;
  figure.rows.title = axes.row_name;
  figure.rows.tokens = std::move(axes.rows);
  const model::TokenBatch& row_tokens = rows_are_keys ? input.keys(blocks.kind) : input.queries(blocks.kind);
  const IndexRange& line = rows_are_keys ? blocks.line_keys : blocks.line_queries;
  const IndexRange all = line.count() > 0 ? line : IndexRange{.first = 0, .end = row_tokens.length};
  const IndexSet rows = is_map ? blocks.queries : all;
  figure.rows.length = 0;
  for (const IndexRange& range : rows.ranges()) figure.rows.length += real_tokens(row_tokens, matrix.batch, range);
  if (options[kFigureDetails.row_names] == RowNames::Written && !rows_are_keys && rows_write_tokens(input, blocks.kind)) {
    const std::vector<std::string> written = written_texts(*input.target, matrix.batch);
    figure.rows.tokens.clear();
    for (const std::uint32_t row : rows.indices()) figure.rows.tokens.push_back(written.at(row));
    figure.rows.title = "writes";
  }
  const auto thumbnails = [&](const model::TokenBatch& tokens, const IndexSet& indices) {
    return patch_thumbnails(patch_images_of(capture, input, tokens, matrix.batch), indices);
  };
  figure.rows.thumbnails = thumbnails(row_tokens, rows);
  figure.rows.bands = bands_of(row_tokens.spans_of(matrix.batch), rows);
  figure.columns.title = axes.column_name;
  if (is_map) {
    figure.columns.tokens = std::move(axes.columns);
    figure.columns.length = real_tokens(input.keys(blocks.kind), matrix.batch, blocks.keys);
    figure.columns.thumbnails = thumbnails(input.keys(blocks.kind), blocks.keys);
    figure.columns.bands = bands_of(input.keys(blocks.kind).spans_of(matrix.batch), blocks.keys);
  }
  if (!options[kFigureParts.word_marks]) {
    exporting::drop_marks(figure.rows.tokens);
    if (is_map) exporting::drop_marks(figure.columns.tokens);
  }
  return figure;
}

exporting::HeatmapFigure matrix_figure(exporting::FigureMap map, const model::ModelInput& input, const ExportBlocks& blocks,
                                       const MatrixRef& matrix, const ExportOptions& options,
                                       const capture::CaptureFile* capture) {
  const Quantity& shown = quantity(quantity_of(blocks, matrix.stage));
  FigureAxes axes = figure_axes(input, blocks, matrix, options, capture);
  exporting::HeatmapFigure figure;
  const std::string place = figure_place(blocks, matrix, attention::is_per_head(matrix.stage));
  begin_figure(figure, options, blocks, matrix, kHeadFigure, fmt::format("{} · {}", shown.figure_title, place));
  figure.map = std::move(map);
  figure.rows = std::move(axes.rows);
  figure.columns = std::move(axes.columns);
  figure.value_title = shown.value_title;
  figure.marks_empty_rows = matrix.stage == Stage::Weights && !blocks.is_difference;
  return figure;
}

void share_scale(std::vector<exporting::HeatmapFigure>& panels) {
  float largest = 0.0F;
  for (const exporting::HeatmapFigure& panel : panels)
    largest = std::max(largest, exporting::scale_of(panel.map, panel.style).high);
  for (exporting::HeatmapFigure& panel : panels) {
    const bool has_scale = panel.style.limits.has_value() || panel.style.scale == chart::ScaleKind::PerRow;
    if (!has_scale) panel.style.limits = {.low = 0.0F, .high = largest};
  }
}

Task<void> add_panels(exporting::ContactSheet& sheet, FigureNumbers& numbers, const ExportBlocks& blocks,
                      const std::vector<std::pair<MatrixRef, std::string>>& maps, std::uint32_t edge) {
  const attention::Stage stage = maps.front().first.stage;
  numbers.expected = figure_cells(blocks, stage) * static_cast<double>(maps.size());
  std::vector<MatrixRef> matrices;
  for (const auto& [matrix, title] : maps) matrices.push_back(matrix);
  std::vector<exporting::FigureMap> read =
      co_await read_maps(numbers, blocks, matrices, numbers.edge(edge, maps.size()), {});
  for (std::size_t i = 0; i < maps.size(); ++i) sheet.panels.push_back({.title = maps[i].second, .map = std::move(read[i])});
  const Quantity& shown = quantity(quantity_of(blocks, stage));
  sheet.row_title = to_string(shown.rows);
  sheet.column_title = to_string(shown.columns);
  sheet.value_title = shown.value_title;
}

}  // namespace headlight::app
