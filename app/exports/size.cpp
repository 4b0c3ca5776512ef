#include "app/exports/size.h"

#include <algorithm>

#include "app/exports/figure_kind.h"
#include "app/exports/figures.h"
#include "app/exports/names.h"
#include "export/npy.h"

namespace headlight::app {
namespace {

using attention::Stage;

/// Bytes of one number in text: seven digits, a point, a sign or an exponent, a comma.
constexpr double kTextBytes = 10.0;
/// Bytes of a pixel in a tile: the mask hides half of most weights, and many of the rest have the same colour.
constexpr double kWeightPixel = 0.25, kSignedPixel = 2.5;
/// Bytes of a value of a figure's map.
constexpr double kWeightValue = 0.25, kSignedValue = 3.5;
/// Bytes of a cell as a rectangle of SVG, and up to how many along an edge are drawn so.
constexpr double kSvgCell = 100.0;
constexpr std::uint32_t kMostSvgCells = 64;
constexpr double kMeasuredDpi = 192.0;  // of FigureBytes' PNGs

/// Bytes of a page, and of one of its cells: of few cells float32 as base64, of many less.
constexpr double kPageBytes = 40'000.0, kPageCellBytes = 5.4;

class SizeOfPlan {
 public:
  explicit SizeOfPlan(const ExportOptions& options) : options_(options) {}

  void add(const ExportBlocks& blocks, Stage stage) {
    const bool is_written = blocks.shape.extent(stage) && (blocks.mean == HeadMean::None || stage == Stage::Weights);
    if (!is_written) return;
    const inference::BlockShape::Extent extent = extent_of(blocks, stage);
    const std::uint64_t heads = heads_of(blocks, stage).size();
    const std::uint64_t sheets = std::uint64_t{blocks.layers.size()} * blocks.batch.count, matrices = sheets * heads;
    const std::uint64_t cells = std::uint64_t{extent.rows} * extent.columns;
    numbers_ += matrices * cells;
    for (const ExportFormat format : options_.formats) {
      if (holds_arrays(format)) {
        add_array(matrices * cells);
      } else if (format == ExportFormat::Csv || format == ExportFormat::Json) {
        bytes_ += static_cast<double>(matrices * cells) * kTextBytes;
      } else if (format == ExportFormat::Html) {
        if (stage == Stage::Weights) bytes_ += kPageBytes + static_cast<double>(matrices * cells) * kPageCellBytes;
      } else if (format == ExportFormat::Tiles) {
        const double pixel = stage == Stage::Weights ? kWeightPixel : kSignedPixel;
        if (attention::is_map(stage)) bytes_ += static_cast<double>(matrices * cells) * pixel;
      }
    }
  }

  /// What each kind of figure has beside values, and the cells of a head or of all heads that it shows.
  void add_figures(const ExportBlocks& blocks) {
    for (const FigureKind* kind : figure_kinds_of(options_)) {
      if (!figure_refusal(*kind, blocks).empty()) continue;
      for (const Stage stage : kind->is_of_stages ? options_.stages : std::vector{Stage::Weights}) {
        const bool has_stage = blocks.shape.extent(stage) && (blocks.mean == HeadMean::None || stage == Stage::Weights);
        if (!has_stage) continue;
        const std::uint64_t figures = figures_of(*kind, blocks, stage).size(), heads = heads_of(blocks, stage).size();
        const bool is_of_head = kind->scope == FigureScope::Head;
        const std::uint64_t maps = kind->scope == FigureScope::Attention ? heads * blocks.layers.size() : heads;
        for (const ExportFormat format : options_.formats) {
          if (!is_figure(format)) continue;
          bytes_ += static_cast<double>(figures) * figure_bytes(kind->bytes, format, blocks.query_count());
          if (kind->draws_values) {
            add_maps(stage, format, extent_of(blocks, stage), is_of_head ? figures : figures * maps,
                     is_of_head ? kFigureEdge : kPanelEdge);
          }
        }
      }
    }
  }

  /// A matrix of the whole network, which only files of arrays hold.
  void add_result(std::uint64_t numbers) {
    const auto files = std::ranges::count_if(options_.formats, holds_arrays);
    if (files > 0) numbers_ += numbers;
    for (std::ptrdiff_t file = 0; file < files; ++file) add_array(numbers);
  }

  ExportSize size() const { return {.numbers = numbers_, .bytes = static_cast<std::uint64_t>(bytes_)}; }

 private:
  double figure_bytes(const FigureBytes& bytes, ExportFormat format, std::uint32_t tokens) const {
    if (format == ExportFormat::Png) return (bytes.png + bytes.png_token * tokens) * options_.dpi / kMeasuredDpi;
    return format == ExportFormat::Svg ? bytes.svg + bytes.svg_token * tokens : bytes.pdf + bytes.pdf_token * tokens;
  }

  void add_array(std::uint64_t numbers) {
    constexpr double kHeader = 128.0;
    bytes_ += static_cast<double>(numbers) * sizeof(float) + kHeader;
  }

  void add_maps(Stage stage, ExportFormat format, inference::BlockShape::Extent extent, std::uint64_t matrices,
                std::uint32_t edge) {
    TileQuery drawn{.rows = extent.rows, .columns = extent.columns, .pool = 1};
    pool_sides(drawn, glm::uvec2(edge));
    const std::uint64_t values = std::uint64_t{drawn.tile_rows()} * drawn.tile_columns();
    const bool is_drawn = format == ExportFormat::Svg && std::max(extent.rows, extent.columns) <= kMostSvgCells;
    const double value = is_drawn ? kSvgCell : stage == Stage::Weights ? kWeightValue : kSignedValue;
    bytes_ += static_cast<double>(matrices) * static_cast<double>(values) * value;
  }

  const ExportOptions& options_;
  std::uint64_t numbers_ = 0;
  double bytes_ = 0.0;
};

std::uint64_t tokens_of(const model::ModelInput& input, bool is_decoder) {
  const model::TokenBatch& tokens = is_decoder && input.target ? *input.target : input.source;
  return std::uint64_t{tokens.batch} * tokens.length;
}

}  // namespace

ExportSize export_size(const ExportOptions& options, const std::vector<ExportBlocks>& plan, const model::Network& network,
                       const model::ModelInput& input) {
  SizeOfPlan size(options);
  for (const ExportBlocks& blocks : plan) {
    for (const Stage stage : options.stages) size.add(blocks, stage);
    size.add_figures(blocks);
  }
  const model::Layers& layers = *network.layers;
  if (options.hidden && !plan.empty()) {
    for (const HiddenFile& file : hidden_files(network, is_model(options.inputs.source))) {
      const bool is_decoder = file.stack && *file.stack == inference::Stack::Decoder;
      const std::size_t states = !file.stack ? 1 : 1 + (is_decoder ? layers.decoder.size() : layers.encoder.size());
      size.add_result(states * tokens_of(input, is_decoder) * plan.front().shape.d_model);
    }
  }
  if (options.logits && layers.unembedding) {
    size.add_result(tokens_of(input, !layers.decoder.empty()) * layers.unembedding->linear.out());
  }
  return size.size();
}

}  // namespace headlight::app
