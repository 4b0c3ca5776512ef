#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headlight::chart {

/// Lines' heights from one index to the next where not every row has a label.
inline constexpr float kThinnedAir = 1.6F;

enum class AxisSide : std::uint8_t {
  Columns,  ///< labels are above (or below) the matrix
  Rows,     ///< labels end left of the matrix
};

/// The angle of column labels. At 45° and 90° they start at the matrix and read upwards.
enum class LabelAngle : std::uint8_t { Horizontal, Diagonal, Vertical };
float degrees(LabelAngle angle);

/// The input of the layout; all lengths in pixels.
struct AxisLabelSpec {
  AxisSide side = AxisSide::Columns;
  std::uint32_t count = 0;        ///< cells along the axis
  std::span<const float> widths;  ///< [count] widths of the tokens' texts; empty: cells have indices only
  float cell_size = 0.0F;         ///< along the axis
  float origin = 0.0F;            ///< start of cell 0, relative to the visible part (negative when scrolled)
  float length = 0.0F;            ///< of the visible part
  float line_height = 0.0F;
  float digit_width = 0.0F;
  float max_extent = 0.0F;       ///< the most room across the axis (above the columns, left of the rows)
  std::uint32_t least_step = 1;  ///< from one index to the next; of two axes side by side the larger step for both
  float gap = 4.0F;              ///< between neighbouring labels' texts, in their reading direction
};

struct AxisLabel {
  std::uint32_t index = 0;
  float center = 0.0F;    ///< of its cell, relative to the visible part
  float width = 0.0F;     ///< of its text as drawn
  bool is_short = false;  ///< the text is wider than `width`: shorten() it
};

struct AxisLabels {
  LabelAngle angle = LabelAngle::Horizontal;
  bool shows_indices = false;     ///< too small for words: labels are the indices 0, step, 2·step, …
  std::uint32_t step = 1;         ///< 1, 2, 5, 10, 20, 50, …
  std::vector<AxisLabel> labels;  ///< ascending, only those whose cell's centre is visible; no two ever overlap
  float extent = 0.0F;            ///< room that the longest needs across the axis
};

/// Token labels while every cell has room for one – at 0°, 45°, then 90° –, else indices at round steps. The choice
/// depends on the whole axis, not on what is visible, so that scrolling never changes the labels' angle.
AxisLabels lay_out_labels(const AxisLabelSpec& spec);

}  // namespace headlight::chart
