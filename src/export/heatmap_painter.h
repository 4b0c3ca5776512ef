#pragma once

#include <optional>
#include <vector>

#include "export/canvas.h"
#include "export/figure_frame.h"
#include "export/figure_map.h"

namespace headlight::exporting {

/// The rectangles of a map's values: `area` has value_rows × value_columns of equal size.
struct CellGrid {
  Rect area;
  float value_width = 0.0F;
  float value_height = 0.0F;

  Rect rect(std::uint32_t row, std::uint32_t column, std::uint32_t columns = 1) const {
    return {area.x + static_cast<float>(column) * value_width, area.y + static_cast<float>(row) * value_height,
            static_cast<float>(columns) * value_width, value_height};
  }
};

/// Colours, stripes and outline. Up to 64 × 64 values are rectangles, more an image.
void paint_cells(Canvas& canvas, const FigureMap& map, const CellGrid& grid, const view::ValueScale& scale,
                 const FigureStyle& style, const Paper& paper);

/// The format of numbers in cells, all with the same decimals.
struct CellNumbers {
  float size = 0.0F;  ///< of the text
  std::uint32_t decimals = 0;
};

/// The most decimals (3 … 2 for numbers below ten, 2 … 0 for others) with which every number fits its cell; nullopt when
/// the text would be too small to read or the map is pooled.
std::optional<CellNumbers> fit_numbers(const FigureMap& map, const CellGrid& grid, const TextMetrics& metrics);
void paint_numbers(Canvas& canvas, const FigureMap& map, const CellGrid& grid, const CellNumbers& numbers,
                   const view::ValueScale& scale, const FigureStyle& style, const Paper& paper);

}  // namespace headlight::exporting
