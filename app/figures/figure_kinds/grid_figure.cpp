#include "app/engine/analyses/head_metric_text.h"
#include "app/figures/figure_kind.h"

namespace headlight::app {
namespace {

constexpr std::uint32_t kGridEdge = 128;                                  // values of a panel
constexpr float kGridWidth = 1'200.0F;                                    // units of all panels of a row, where they fit
constexpr float kMinPanel = 48.0F, kLargestPanel = 150.0F, kGap = 18.0F;  // units

DrawingTask draw_grid(const FigureSubject& subject, FigureNumbers& numbers) {
  const ExportBlocks& blocks = subject.blocks;
  const attention::Stage stage = subject.matrix.stage;
  const Quantity& shown = quantity(quantity_of(blocks, stage));
  exporting::ContactSheet sheet;
  const bool is_whole = blocks.layers.size() == blocks.all_layers && blocks.heads.size() == blocks.shape.heads;
  begin_figure(sheet, subject, kGridFigure,
               fmt::format("{} · {}{}{}", shown.figure_title,
                           blocks.prefix.empty() ? "" : fmt::format("{}, ", model::to_string(blocks.kind)),
                           is_whole ? "all heads" : "selected heads",
                           blocks.shape.batch > 1 ? fmt::format(", batch item {}", subject.matrix.batch) : ""));
  sheet.subtitle += "; a row for each layer, a column for each head";
  std::vector<std::pair<MatrixRef, std::string>> maps;
  for (const HeadRef& head : selected_heads(blocks)) {
    maps.emplace_back(MatrixRef{.block = head.block, .batch = subject.matrix.batch, .head = head.head, .stage = stage},
                      head_name(head));
  }
  co_await add_panels(sheet, numbers, blocks, maps, kGridEdge);
  sheet.across = blocks.heads.size();
  if (sheet.style.map_edge <= 0.0F) {
    const auto across = static_cast<float>(sheet.across);
    const float panel = std::clamp((kGridWidth + kGap) / across - kGap, kMinPanel, kLargestPanel);
    sheet.style.map_edge = across * (panel + kGap) - kGap;
  }
  co_return exporting::make_drawing(std::move(sheet), subject.format);
}

}  // namespace

const FigureKind kGridFigure{.id = "grid",
                             .label = "Grid",
                             .help = "every head of every layer, a row for each layer",
                             .scope = FigureScope::Attention,
                             .bytes = {.png = 50e3, .svg = 25e3, .pdf = 25e3, .png_token = 350.0, .pdf_token = 180.0},
                             .draws_values = true,
                             .takes_norms = true,
                             .takes_differences = true,
                             .takes_parts = true,
                             .draw = &draw_grid};

}  // namespace headlight::app
