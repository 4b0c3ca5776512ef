// The colours of a heatmap's cells, found on the processor, against the rule written down cell by cell.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "app/shell/cell_colors.h"
#include "chart/color.h"

namespace shell_cells_test {

using namespace headlight::shell;
namespace chart = headlight::chart;

TEST_SUITE_BEGIN("cpu");

namespace {

constexpr std::uint32_t kMasked = 0xFF000000U;
constexpr std::uint32_t kRgb = 0x00FFFFFFU;

/// Entry i has red i: a colour tells its place in the map.
std::vector<std::uint32_t> reds() {
  std::vector<std::uint32_t> table(256);
  for (std::uint32_t i = 0; i < 256; ++i) table[i] = 0xFF102000U | i;
  return table;
}

struct Cells {
  std::uint32_t rows = 1, columns = 1;
  std::vector<float> values;
  std::vector<std::uint8_t> masked;
  std::vector<float> row_scale;
  std::vector<std::uint32_t> table = reds();

  std::vector<std::uint32_t> colors(const CellColoring& coloring) const {
    HeatmapImage image;
    image.rows = rows;
    image.columns = columns;
    image.values = values;
    image.masked = masked;
    image.row_scale = row_scale;
    image.color_map = table;
    std::vector<std::uint32_t> result(values.size());
    color_cells(image, coloring, result);
    return result;
  }
};

}  // namespace

TEST_CASE("values are spread over the map evenly, or by their logarithms, and clamped") {
  Cells cells;
  cells.columns = 5;
  cells.values = {-7.0F, 1.0F, 3.0F, 5.0F, 90.0F};
  const std::vector<std::uint32_t> even = cells.colors({.low = 1.0F, .high = 5.0F});
  CHECK(even[0] == 0x102000U);
  CHECK(even[1] == 0x102000U);
  CHECK(even[2] == 0x102080U);
  CHECK(even[3] == 0x1020FFU);
  CHECK(even[4] == 0x1020FFU);
  cells.values = {0.0F, 0.01F, 0.1F, 1.0F, 10.0F};
  const std::vector<std::uint32_t> log = cells.colors({.low = 0.0001F, .high = 1.0F, .spread = chart::ScaleSpread::Log});
  CHECK((log[0] & 0xFFU) == 0);
  CHECK(std::abs(static_cast<int>(log[1] & 0xFFU) - 128) <= 1);
  CHECK(std::abs(static_cast<int>(log[2] & 0xFFU) - 191) <= 1);
  CHECK((log[3] & 0xFFU) == 255);
  CHECK((log[4] & 0xFFU) == 255);
  cells.values = {0.0F, 0.04F, 0.25F, 1.0F, 4.0F};
  const std::vector<std::uint32_t> root = cells.colors({.low = 0.0F, .high = 1.0F, .spread = chart::ScaleSpread::Root});
  CHECK((root[0] & 0xFFU) == 0);
  CHECK(std::abs(static_cast<int>(root[1] & 0xFFU) - 51) <= 1);
  CHECK(std::abs(static_cast<int>(root[2] & 0xFFU) - 128) <= 1);
  CHECK((root[3] & 0xFFU) == 255);
  CHECK((root[4] & 0xFFU) == 255);
}

TEST_CASE("an image's pixels are their own colours, and the mean of those that share one of the screen") {
  const std::vector<std::uint32_t> pixels = {0xFF000001U, 0xFF000003U, 0xFF0000FFU, 0xFF640000U, 0xFF640004U, 0xFFFFFFFFU};
  HeatmapImage image;
  image.rows = 2;
  image.columns = 3;
  image.pixels = pixels;
  std::vector<std::uint32_t> colors(6);
  color_cells(image, {}, colors);
  for (std::size_t i = 0; i < 6; ++i) CHECK(colors[i] == (pixels[i] & kRgb));
  color_cells(image, {.pooled_rows = 2, .pooled_columns = 2}, colors);
  CHECK(colors[0] == 0x320002U);  // of four
  CHECK(colors[2] == 0x8080FFU);  // of two, at the right edge
  CHECK(colors[5] == 0xFFFFFFU);  // of one
}

TEST_CASE("ranges that aren't ranges give colours of the map, whatever the values") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Cells cells;
  cells.columns = 4;
  cells.values = {-1.0F, 0.0F, 2.0F, kInfinity};
  cells.masked = {0, 0, 0, 1};
  for (const float low : {0.0F, -1.0F, 1.0F, kNan, -kInfinity, kInfinity}) {
    for (const float high : {0.0F, 1.0F, kNan, kInfinity, -kInfinity}) {
      for (const chart::ScaleSpread spread :
           {chart::ScaleSpread::Linear, chart::ScaleSpread::Root, chart::ScaleSpread::Log}) {
        for (const std::uint32_t color : cells.colors({.low = low, .high = high, .spread = spread}))
          CHECK((color & 0xFFFF00U) == 0x102000U);
      }
    }
  }
}

TEST_CASE("masked cells are marked, on their ground; what isn't finite has a colour of its own") {
  Cells cells;
  cells.columns = 6;
  cells.values = {0.0F, std::nanf(""), 1.0F, std::nanf(""), 1.0F, -std::numeric_limits<float>::infinity()};
  cells.masked = {0, 0, 1, 1, 0, 0};
  const Color opaque = rgb(0x010203);
  const std::vector<std::uint32_t> on_opaque = cells.colors({.hatch_ground = opaque, .missing = rgb(0x445566)});
  CHECK(on_opaque[0] == 0x102000U);
  CHECK(on_opaque[1] == (chart::kNotFinitePacked & kRgb));
  CHECK(on_opaque[2] == ((opaque & kRgb) | kMasked));
  CHECK(on_opaque[3] == ((opaque & kRgb) | kMasked));
  CHECK(on_opaque[5] == (chart::kNotFinitePacked & kRgb));
  const std::vector<std::uint32_t> through = cells.colors({.hatch_ground = 0, .missing = rgb(0x445566)});
  CHECK(through[2] == (0x1020FFU | kMasked));
  CHECK(through[3] == ((rgb(0x445566) & kRgb) | kMasked));
  const std::vector<std::uint32_t> half = cells.colors({.hatch_ground = with_alpha(rgb(0x000000), 0x80)});
  CHECK((half[2] & 0xFFU) == 127);  // 255 · (1 − 128/255)
}

TEST_CASE("cells that share a pixel have the largest value's colour, and none is lost") {
  std::mt19937 generator(3);
  const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
  for (int round = 0; round < 40; ++round) {
    Cells cells;
    cells.rows = 1 + random() % 9;
    cells.columns = 1 + random() % 9;
    const std::size_t count = std::size_t{cells.rows} * cells.columns;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t kind = random() % 16;
      cells.values.push_back(kind == 0 ? std::nanf("") : static_cast<float>(random() % 256) / 255.0F);
      cells.masked.push_back(random() % 3 == 0 ? 1 : 0);
    }
    CellColoring coloring;
    coloring.hatch_ground = rgb(0x334455);
    coloring.pooled_rows = 1 + random() % kMaxPooled;
    coloring.pooled_columns = 1 + random() % kMaxPooled;
    const std::vector<std::uint32_t> colors = cells.colors(coloring);
    for (std::uint32_t row = 0; row < cells.rows; ++row) {
      for (std::uint32_t column = 0; column < cells.columns; ++column) {
        bool has_open = false;
        bool has_odd = false;
        float largest = 0.0F;
        for (std::uint32_t r = row; r < std::min(row + coloring.pooled_rows, cells.rows); ++r) {
          for (std::uint32_t c = column; c < std::min(column + coloring.pooled_columns, cells.columns); ++c) {
            const std::size_t at = std::size_t{r} * cells.columns + c;
            if (cells.masked[at] != 0) continue;
            has_open = true;
            if (std::isfinite(cells.values[at])) {
              largest = std::max(largest, cells.values[at]);
            } else {
              has_odd = true;
            }
          }
        }
        const std::uint32_t color = colors[std::size_t{row} * cells.columns + column];
        CAPTURE(row);
        CAPTURE(column);
        if (!has_open) {
          CHECK(color == ((rgb(0x334455) & kRgb) | kMasked));
        } else if (has_odd) {
          CHECK(color == (chart::kNotFinitePacked & kRgb));
        } else {
          CHECK(color == (0x102000U | static_cast<std::uint32_t>(std::lround(largest * 255.0F))));
        }
      }
    }
  }
}

TEST_CASE("how many cells share a pixel follows from the pixels of a cell") {
  HeatmapImage image;
  image.low = -1.0F;
  image.high = 2.0F;
  const CellColoring large = coloring_of(image, 20.0F, 1.0F);
  CHECK(large.pooled_columns == 1);
  CHECK(large.pooled_rows == 1);
  CHECK(large.low == -1.0F);
  CHECK(large.spread == chart::ScaleSpread::Linear);
  CHECK(coloring_of(image, 0.5F, 0.3F).pooled_columns == 2);
  CHECK(coloring_of(image, 0.5F, 0.3F).pooled_rows == 4);
  CHECK(coloring_of(image, 0.01F, 0.995F).pooled_columns == kMaxPooled);
  CHECK(coloring_of(image, 0.01F, 0.995F).pooled_rows == 1);
  image.spread = chart::ScaleSpread::Log;
  CHECK(coloring_of(image, 1.0F, 1.0F).low > 0.0F);
  CHECK(coloring_of(image, 1.0F, 1.0F).spread == chart::ScaleSpread::Log);
}

TEST_SUITE_END();

}  // namespace shell_cells_test
