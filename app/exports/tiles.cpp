#include "app/exports/tiles.h"

#include <algorithm>
#include <cmath>

#include "app/quantities/evaluation.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "core/json.h"
#include "files/pixels.h"
#include "view/color_map.h"
#include "view/not_finite.h"
#include "view/value_scale.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr std::uint32_t kMaskedLight = 0xFFEBEBEB, kMaskedDark = 0xFF2C2826;  // R | G << 8 | B << 16 | A << 24

/// Have its numbers both signs? Else they are weights or norms.
bool is_signed(const TileQuery& matrix) { return quantity(matrix.quantity).colors == ColorKind::Diverging; }

std::span<const std::uint32_t> colors_of(bool has_both_signs, const ExportOptions& options) {
  if (has_both_signs) return view::table(view::ColorMap::BlueRed);
  const Result<view::ColorMap> map = view::parse_color_map(options.color_map);
  if (!map) throw Error(map.error());
  return view::table(*map);
}

/// The largest finite value, or of signed stages the largest magnitude; masked scores without masked cells. 1 where there is
/// none. The whole map passes through.
float reach_of(const Runs& runs, const TileQuery& matrix, Stage stage, const Checkpoint& checkpoint) {
  float reach = 0.0F;
  read_strips(runs, matrix, [&](const attention::Tile& strip) {
    checkpoint(static_cast<double>(strip.request.row - matrix.row) / matrix.rows);
    for (std::size_t i = 0; i < strip.values.size(); ++i) {
      const bool counts = std::isfinite(strip.values[i]) && (stage != Stage::Masked || strip.masked[i] == 0);
      if (counts) reach = std::max(reach, std::abs(strip.values[i]));
    }
  });
  return reach > 0.0F ? reach : 1.0F;
}

/// The largest weight of the map's rows, 1 / l: one column has the statistics of all rows.
float largest_weight(const Runs& runs, const TileQuery& matrix) {
  TileQuery column = matrix;
  column.columns = 1;
  float largest = 0.0F;
  for (const float sum : evaluate(runs, column).row_sum) {
    if (sum > 0.0F) largest = std::max(largest, 1.0F / sum);
  }
  return largest > 0.0F ? largest : 1.0F;
}

bool is_norm(Stage stage, const ExportOptions& options) { return stage == Stage::Weights && options.weighs_values; }

/// Do the limits follow from the values of the map, so that it has to be evaluated twice?
bool looks_for_limits(const TileQuery& matrix, Stage stage, const ExportOptions& options) {
  return is_norm(stage, options) || (is_signed(matrix) && !options.color_limits.contains(stage));
}

view::ValueLimits limits_of(const Runs& runs, const TileQuery& matrix, Stage stage, const ExportOptions& options,
                            const Checkpoint& checkpoint) {
  if (looks_for_limits(matrix, stage, options)) {
    const float reach = reach_of(runs, matrix, stage, checkpoint);
    return {.low = is_signed(matrix) ? -reach : 0.0F, .high = reach};
  }
  const auto chosen = options.color_limits.find(stage);
  if (!is_signed(matrix)) {
    if (chosen != options.color_limits.end()) return chosen->second;
    return {.low = 0.0F, .high = largest_weight(runs, matrix)};
  }
  const float reach = std::max(std::abs(chosen->second.low), std::abs(chosen->second.high));
  return {.low = reach > 0.0F ? -reach : -1.0F, .high = reach > 0.0F ? reach : 1.0F};
}

/// Colours the cells of a tile, and says whether any of them has a value to show.
bool paint(const attention::Tile& tile, bool has_both_signs, const view::ValueLimits& limits, const ExportOptions& options,
           exporting::Pixels& pixels) {
  const Stage stage = tile.request.stage;
  const std::span<const std::uint32_t> colors = colors_of(has_both_signs, options);
  const bool comes_after_mask = stage == Stage::Masked || stage == Stage::Weights;
  const view::ScaleSpread spread = has_both_signs ? view::ScaleSpread::Linear : options.color_spread;
  pixels = {.width = tile.request.columns, .height = tile.request.rows, .rgba = {}};
  pixels.rgba.reserve(tile.values.size());
  bool has_any = false;
  for (std::size_t i = 0; i < tile.values.size(); ++i) {
    const float value = tile.values[i];
    const bool is_masked = comes_after_mask && !tile.masked.empty() && tile.masked[i] != 0;
    const bool is_blank = is_masked && (value == 0.0F || !(value > view::kFillBelow));
    has_any = has_any || !is_blank;
    if (is_blank) {
      pixels.rgba.push_back(options.is_dark ? kMaskedDark : kMaskedLight);
    } else if (!std::isfinite(value)) {
      pixels.rgba.push_back(view::kNotFinitePacked);
    } else {
      const float position = view::position_in(limits, spread, value);
      const auto last = static_cast<float>(colors.size() - 1);
      pixels.rgba.push_back(colors[static_cast<std::size_t>(std::lround(position * last))]);
    }
  }
  return has_any;
}

}  // namespace

void write_matrix_tiles(const Runs& runs, const ExportBlocks& blocks, const MatrixRef& matrix, const ExportOptions& options,
                        const std::filesystem::path& folder, const Checkpoint& checkpoint) {
  const TileQuery whole = selected_matrix(blocks, matrix.block, matrix.stage, matrix.batch, matrix.head);
  const double begin = looks_for_limits(whole, matrix.stage, options) ? 0.5 : 0.0;  // of the file's work
  const view::ValueLimits limits =
      limits_of(runs, whole, matrix.stage, options, [&](double share) { checkpoint(begin * share); });
  const auto norms = std::make_shared<HeadNormsCache>();
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
      const auto tell = [&] { checkpoint(begin + (1.0 - begin) * share); };
      TileQuery part = whole;
      part.row += row;
      part.rows = rows;
      part.column += column;
      part.columns = std::min(kExportTileEdge, whole.columns - column);
      exporting::Pixels pixels;
      const attention::Tile cells = evaluate({.run = runs.run, .reference = runs.reference, .norms = norms}, part,
                                             [&](std::size_t /*cells*/) { tell(); });
      if (!paint(cells, is_signed(whole), limits, options, pixels)) continue;
      const std::string name = fmt::format("y{:03}_x{:03}.png", row / kExportTileEdge, column / kExportTileEdge);
      write_file_atomically(folder / name, exporting::encode_png(pixels));
      index["tiles"].push_back({{"file", name}, {"y", row}, {"x", column}});
    }
  }
  write_file_atomically(folder / "index.json", to_text(index, 1) + "\n");
}

}  // namespace headlight::app
