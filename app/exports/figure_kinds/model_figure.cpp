

#include "app/analyses/head_order.h"
#include "app/exports/figure_kind.h"
#include "app/exports/model_sheet.h"

namespace headlight::app {
namespace {

constexpr std::uint32_t kModelEdge = 128;  // values of a panel

std::unique_ptr<exporting::Drawing> draw_model(const FigureSubject& subject, FigureNumbers& numbers) {
  const ExportBlocks& blocks = subject.blocks;
  const attention::Stage stage = subject.matrix.stage;
  const std::size_t heads = blocks.layers.size() * blocks.heads.size();
  // The maps, and every map again for the metrics of all heads.
  numbers.expect(figure_cells(blocks, stage) *
                 static_cast<double>(heads + std::size_t{blocks.all_layers} * blocks.shape.heads));
  const auto result = numbers.analysis(HeadMetricsQuestion{.kind = blocks.kind, .batch = subject.matrix.batch});
  const auto* found = dynamic_cast<const HeadMetricsFound*>(result.get());
  const bool is_measured = found != nullptr && found->is_complete();
  ModelSheet sheet{.maps = {}, .found = found, .choices = subject.options.choice.heads};
  std::vector<HeadRef> all;
  for (const model::BlockRef block : blocks.layers) {
    for (const std::uint32_t head : blocks.heads) all.push_back({.block = block, .head = head});
  }
  const std::vector<HeadRef> listed = is_measured ? listed_heads(all, sheet.choices, found) : all;
  for (const HeadRef& head : listed) {
    const MatrixRef matrix{.block = head.block, .batch = subject.matrix.batch, .head = head.head, .stage = stage};
    std::optional<exporting::FigureMap> map = read_map(numbers, blocks, matrix, numbers.edge(kModelEdge, all.size()));
    if (map) sheet.maps.push_back({.head = head, .map = std::move(*map)});
  }
  if (!is_measured || sheet.maps.size() < listed.size()) return nullptr;
  begin_figure(sheet, subject, kModelFigure,
               fmt::format("attention weights · {}heads by what they do{}",
                           blocks.prefix.empty() ? "" : fmt::format("{}, ", model::to_string(blocks.kind)),
                           blocks.shape.batch > 1 ? fmt::format(", batch item {}", subject.matrix.batch) : ""));
  sheet.subtitle += order_in_words(sheet.choices);
  sheet.value_title = quantity(quantity_of(blocks, stage)).value_title;
  return exporting::make_drawing(model_sheet(std::move(sheet)), subject.format);
}

}  // namespace

const FigureKind kModelFigure{.id = "model",
                              .label = "Model",
                              .help = "every head as a small map with its metric, in the order of the view Model",
                              .scope = FigureScope::Attention,
                              .bytes = {.png = 50e3, .svg = 25e3, .pdf = 25e3, .png_token = 350.0, .pdf_token = 180.0},
                              .draws_values = true,
                              .draw = &draw_model};

}  // namespace headlight::app
