#pragma once

#include "export/figure_frame.h"
#include "export/figure_map.h"

namespace headlight::exporting {

/// The rectangles of a map's values: `area` has value_rows × value_columns of the size `value`.
struct CellGrid {
  Rect area;
  glm::vec2 value{0.0F};

  Rect rect(std::uint32_t row, std::uint32_t column, std::uint32_t columns = 1) const {
    return {area.origin + glm::vec2(column, row) * value, glm::vec2(columns, 1.0F) * value};
  }
};

/// A pixel for each value; of blank cells `blank`.
Pixels color_values(const FigureMap& map, const chart::ValueScale& scale, chart::ColorMap colors, Rgb blank);

/// Colours, stripes and outline. Up to 64 × 64 values are rectangles, more an image.
void paint_cells(Canvas& canvas, const FigureMap& map, const CellGrid& grid, const chart::ValueScale& scale,
                 const FigureStyle& style, const Paper& paper);

/// The format of numbers in cells, all with the same decimals.
struct CellNumbers {
  float size = 0.0F;  ///< of the text
  std::uint32_t decimals = 0;
};

/// The most decimals (3 … 2 for numbers below ten, 2 … 0 for others) with which every number fits its cell; nullopt when
/// the text would be too small to read or the map is pooled.
std::optional<CellNumbers> fit_numbers(const FigureMap& map, const CellGrid& grid, const TextMetrics& metrics);
/// Texts [row, column] of a map that isn't pooled, each cut to its cell.
void paint_texts(Canvas& canvas, const FigureMap& map, const CellGrid& grid, std::span<const std::string> texts,
                 const TextMetrics& metrics, const chart::ValueScale& scale, const FigureStyle& style, const Paper& paper);
void paint_numbers(Canvas& canvas, const FigureMap& map, const CellGrid& grid, const CellNumbers& numbers,
                   const chart::ValueScale& scale, const FigureStyle& style, const Paper& paper);

}  // namespace headlight::exporting
