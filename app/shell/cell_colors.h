#pragma once

#include "app/shell/heatmap_renderer.h"

namespace headlight::shell {

/// The values that the colours of a heatmap's cells depend on besides its numbers and colour map.
struct CellColoring {
  float low = 0.0F;
  float high = 1.0F;  ///< of a logarithmic spread both are above 0
  chart::ScaleSpread spread = chart::ScaleSpread::Linear;
  Color hatch_ground = 0;  ///< over the colour of masked cells
  Color missing = 0;       ///< below it where a masked cell is NaN
  /// Cells that share a pixel, 1 … kMaxPooled: a cell has the colour of the largest value of so many rows and columns that
  /// begin with it, so that peaks are kept, or of the one that isn't finite. Masked cells count only among themselves.
  std::uint32_t pooled_rows = 1;
  std::uint32_t pooled_columns = 1;

  bool operator==(const CellColoring&) const = default;
};

inline constexpr std::uint32_t kMaxPooled = 4;

/// Returns the coloring of image and area when a cell has so many pixels.
CellColoring coloring_of(const HeatmapImage& image, float pixels_per_column, float pixels_per_row);

/// Writes the colours [rows, columns] as heatmap.frag reads them: R | G << 8 | B << 16, and 255 << 24 where stripes go over
/// it. colour = map[255 · (clamp(value · row scale) − low) / (high − low)], or this quotient of their logarithms, or the
/// square root of the quotient.
void color_cells(const HeatmapImage& image, const CellColoring& coloring, std::span<std::uint32_t> colors);

}  // namespace headlight::shell
