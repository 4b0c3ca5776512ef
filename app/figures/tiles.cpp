#include "app/figures/export_plan.h"

#include "app/figures/figure_kind.h"
#include "app/shapes/quantities/evaluation.h"
#include "chart/color.h"
#include "chart/value_scale.h"
#include "core/file.h"
#include "core/json.h"
#include "export/heatmap_painter.h"
#include "files/image.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr chart::Rgb kMaskedLight{0xEB, 0xEB, 0xEB}, kMaskedDark{0x26, 0x28, 0x2C};

/// Have its numbers both signs? Else they are weights or norms.
bool is_signed(const TileQuery& matrix) { return quantity(matrix.quantity).colors == ColorKind::Diverging; }

/// The largest finite value, or of signed stages the largest magnitude; masked scores without masked cells. 1 where there is
/// none. The whole map passes through.
Task<float> reach_of(const ExportWork& work, TileQuery matrix, Stage stage, double share) {
  float reach = 0.0F;
  for (const TileQuery& query : strips_of(matrix)) {
    const attention::Tile strip = co_await work.tile(query);
    work.checkpoint(share * (query.row - matrix.row) / matrix.rows);
    for (std::size_t i = 0; i < strip.values.size(); ++i) {
      const bool counts = std::isfinite(strip.values[i]) && (stage != Stage::Masked || strip.masked[i] == 0);
      if (counts) reach = std::max(reach, std::abs(strip.values[i]));
    }
  }
  co_return reach > 0.0F ? reach : 1.0F;
}

bool is_norm(Stage stage, const ExportOptions& options) { return stage == Stage::Weights && options.weighs_values; }

/// Do the limits follow from the values of the map, so that it has to be evaluated twice?
bool looks_for_limits(const TileQuery& matrix, Stage stage, const ExportOptions& options) {
  return is_norm(stage, options) || (is_signed(matrix) && !options.color_limits.contains(stage));
}

/// `share`: of the file's work, that looking for them is.
Task<chart::ValueLimits> limits_of(const ExportWork& work, TileQuery matrix, Stage stage, double share) {
  chart::ValueLimits limits;
  const auto chosen = work.options.color_limits.find(stage);
  if (looks_for_limits(matrix, stage, work.options)) {
    limits.high = co_await reach_of(work, matrix, stage, share);
    limits.low = is_signed(matrix) ? -limits.high : 0.0F;
  } else if (is_signed(matrix)) {
    const float reach = std::max(std::abs(chosen->second.low), std::abs(chosen->second.high));
    limits.high = reach > 0.0F ? reach : 1.0F;
    limits.low = -limits.high;
  } else if (chosen != work.options.color_limits.end()) {
    limits = chosen->second;
  } else {
    matrix.columns = 1;  // which has the statistics of all rows
    const attention::Tile column = co_await work.tile(matrix);
    limits = weight_limits(make_tile_facts(column), ColorRange::Largest);
  }
  co_return limits;
}

/// The tile's colours; nullopt: it has no value to show.
std::optional<exporting::Pixels> paint(const attention::Tile& tile, bool has_both_signs, const chart::ValueLimits& limits,
                                       const ExportOptions& options) {
  const Stage stage = tile.request.stage;
  exporting::FigureMap map = exporting::make_map(tile);
  if (stage != Stage::Masked && stage != Stage::Weights) map.masked.clear();  // it comes before the mask
  bool has_any = false;
  for (std::uint32_t row = 0; row < map.rows && !has_any; ++row) {
    for (std::uint32_t column = 0; column < map.columns && !has_any; ++column) has_any = !map.is_blank(row, column);
  }
  if (!has_any) return std::nullopt;
  const chart::ValueScale scale{
      .kind = chart::ScaleKind::Maximum,
      .low = limits.low,
      .high = limits.high,
      .spread = has_both_signs ? chart::ScaleSpread::Linear : options[kFigureDetails.color_spread]};
  return exporting::color_values(
      map, scale, has_both_signs ? chart::diverging(options[kFigureDetails.is_dark]) : options[kFigureLook.color_map],
      options[kFigureDetails.is_dark] ? kMaskedDark : kMaskedLight);
}

}  // namespace

Task<void> write_matrix_tiles(ExportWork& work, const ExportBlocks& blocks, MatrixRef matrix, std::filesystem::path folder) {
  const ExportOptions& options = work.options;
  const TileQuery whole = selected_matrix(blocks, matrix.block, matrix.stage, matrix.batch, matrix.head);
  const double begin = looks_for_limits(whole, matrix.stage, options) ? 0.5 : 0.0;  // of the file's work
  const chart::ValueLimits limits = co_await limits_of(work, whole, matrix.stage, begin);
  make_directories(folder);
  exporting::Json index = {
      {"stage", blocks.weighs_values || blocks.is_difference ? quantity(whole.quantity).id
                                                             : std::string(attention::to_string(matrix.stage))},
      {"first_query", whole.row},
      {"first_key", whole.column},
      {"queries", whole.rows},
      {"keys", whole.columns},
      {"edge", kExportTileEdge},
      {"low", limits.low},
      {"high", limits.high},
      {"tiles", exporting::Json::array()}};
  for (std::uint32_t row = 0; row < whole.rows; row += kExportTileEdge) {
    for (std::uint32_t column = 0; column < whole.columns; column += kExportTileEdge) {
      const std::uint32_t rows = std::min(kExportTileEdge, whole.rows - row);
      const double share = (row + rows * static_cast<double>(column) / whole.columns) / whole.rows;
      TileQuery part = whole;
      part.row += row;
      part.rows = rows;
      part.column += column;
      part.columns = std::min(kExportTileEdge, whole.columns - column);
      work.checkpoint(begin + (1.0 - begin) * share);
      const attention::Tile cells = co_await work.tile(part);
      const std::optional<exporting::Pixels> pixels = paint(cells, is_signed(whole), limits, options);
      if (!pixels) continue;
      const std::string name = fmt::format("y{:03}_x{:03}.png", row / kExportTileEdge, column / kExportTileEdge);
      write_file_atomically(folder / name, exporting::encode_png(*pixels));
      index["tiles"].push_back({{"file", name}, {"y", row}, {"x", column}});
    }
  }
  write_file_atomically(folder / "index.json", to_text(index, 1) + "\n");
}

}  // namespace headlight::app
