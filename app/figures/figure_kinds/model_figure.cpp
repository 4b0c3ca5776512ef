#include "app/engine/analyses/head_metric_text.h"
#include "app/engine/analyses/head_metrics.h"
#include "app/figures/figure_kind.h"
#include "app/figures/view_figures.h"
#include "core/error.h"

namespace headlight::app {
namespace {

constexpr std::size_t kMaxAcross = 12;
constexpr float kSheetPanel = 116.0F, kSheetGap = 18.0F;  // units

/// Maps on a line: all heads of a layer where heads are in the order of layers and fit one, else as many as fill a page.
std::size_t maps_across(const HeadMaps& maps, bool is_ordered) {
  std::size_t longest = 0, here = 0;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const bool begins_layer = i > 0 && maps[i].first.block != maps[i - 1].first.block;
    here = begins_layer ? 1 : here + 1;
    longest = std::max(longest, here);
  }
  const bool is_by_layer = !is_ordered && maps.size() % std::max<std::size_t>(longest, 1) == 0;
  if (is_by_layer && longest <= kMaxAcross) return longest;
  // Near a square.
  std::size_t across = 1;
  while (across * across < maps.size()) ++across;
  return std::min(across, kMaxAcross);
}

constexpr std::uint32_t kModelEdge = 128;  // values of a panel

DrawingTask draw_model(const FigureSubject& subject, FigureNumbers& numbers) {
  const ExportBlocks& blocks = subject.blocks;
  const attention::Stage stage = subject.matrix.stage;
  const std::size_t heads = blocks.layers.size() * blocks.heads.size();
  // The maps, and every map again for the metrics of all heads.
  numbers.expected =
      figure_cells(blocks, stage) * static_cast<double>(heads + std::size_t{blocks.all_layers} * blocks.shape.heads);
  const AnalysisQuery query = HeadMetricsQuestion{.kind = blocks.kind, .batch = subject.matrix.batch};
  const auto result = co_await numbers.analysis(query);
  const auto* found = dynamic_cast<const HeadMetricsFound*>(result.get());
  if (found == nullptr) co_return nullptr;
  const HeadChoices& choices = subject.options.choice.heads;
  const std::vector<HeadRef> all = selected_heads(blocks);
  const std::vector<HeadRef> listed = listed_heads(all, choices, found);
  std::vector<MatrixRef> matrices;
  for (const HeadRef& head : listed)
    matrices.push_back({.block = head.block, .batch = subject.matrix.batch, .head = head.head, .stage = stage});
  std::vector<exporting::FigureMap> read =
      co_await read_maps(numbers, blocks, matrices, numbers.edge(kModelEdge, all.size()), {});
  HeadMaps maps;
  for (std::size_t i = 0; i < listed.size(); ++i) maps.emplace_back(listed[i], std::move(read[i]));
  exporting::ContactSheet sheet;
  begin_figure(sheet, subject, kModelFigure,
               fmt::format("attention weights · {}heads by what they do{}",
                           blocks.prefix.empty() ? "" : fmt::format("{}, ", model::to_string(blocks.kind)),
                           blocks.shape.batch > 1 ? fmt::format(", batch item {}", subject.matrix.batch) : ""));
  sheet.subtitle += order_in_words(choices);
  sheet.value_title = quantity(quantity_of(blocks, stage)).value_title;
  co_return exporting::make_drawing(model_sheet(std::move(sheet), std::move(maps), found, choices), subject.format);
}

}  // namespace

const FigureKind kModelFigure{.id = "model",
                              .label = "Model",
                              .help = "every head as a small map with its metric, in the order of the view Model",
                              .scope = FigureScope::Attention,
                              .bytes = {.png = 50e3, .svg = 25e3, .pdf = 25e3, .png_token = 350.0, .pdf_token = 180.0},
                              .draws_values = true,
                              .draw = &draw_model};

std::string order_in_words(const HeadChoices& choices) {
  std::string text;
  if (choices.order) {
    text += fmt::format("; ordered by {}, the {} first", metric_title(*choices.order, choices.scoring),
                        choices.lowest_first ? "lowest" : "highest");
  }
  if (choices.filter)
    text += fmt::format("; {} from {:.3g} on", metric_title(*choices.filter, choices.scoring), choices.least);
  if (choices.only_pinned) text += "; pinned heads alone";
  return text;
}

exporting::ContactSheet model_sheet(exporting::ContactSheet page, HeadMaps maps, const HeadMetricsFound* found,
                                    const HeadChoices& choices) {
  if (maps.empty()) throw Error("no head is left to show: choose another filter");
  page.across = maps_across(maps, choices.order.has_value());
  for (auto& [head, map] : maps) {
    const evaluation::HeadMetrics* metrics = found != nullptr ? found->find(head) : nullptr;
    std::string caption = head_caption(head, metrics, choices);
    // Heads without a badge show their entropy, so that every head has a number.
    if (metrics != nullptr && caption == head_name(head)) {
      constexpr evaluation::HeadMetric kEntropy = evaluation::HeadMetric::Entropy;
      caption +=
          fmt::format("  {} {}", evaluation::metric_name(kEntropy), metric_number(kEntropy, metrics->value(kEntropy)));
    }
    page.panels.push_back({.title = std::move(caption), .map = std::move(map)});
  }
  if (page.style.map_edge <= 0.0F) {
    page.style.map_edge = static_cast<float>(page.across) * (kSheetPanel + kSheetGap) - kSheetGap;
  }
  return page;
}

}  // namespace headlight::app
