#include "chart/axis_labels.h"

#include <algorithm>
#include <cmath>

namespace headlight::chart {
namespace {

constexpr float kSqrtHalf = 0.70710678F;

std::uint32_t digits(std::uint32_t number) {
  std::uint32_t count = 1;
  while (number >= 10) {
    number /= 10;
    ++count;
  }
  return count;
}

// The smallest of 1, 2, 5, 10, … whose cells together are at least `needed` long.
std::uint32_t nice_step(float cell_size, float needed) {
  for (std::uint32_t power = 1; power <= 100'000'000; power *= 10) {
    for (const std::uint32_t factor : {1U, 2U, 5U}) {
      if (static_cast<float>(factor * power) * cell_size >= needed) return factor * power;
    }
  }
  return 1'000'000'000;
}

// Indices at every line would merge into a grey column; where every cell has its own they may be closer.
float needed_line(const AxisLabelSpec& spec) {
  return spec.cell_size >= spec.line_height ? spec.line_height : kThinnedAir * spec.line_height;
}

// Token labels at the best angle; false when not even vertical ones (or lines of rows) fit a cell.
bool try_words(const AxisLabelSpec& spec, AxisLabels& result) {
  if (spec.widths.empty() || spec.cell_size < spec.line_height) return false;
  if (spec.side == AxisSide::Rows) return true;
  const float widest = *std::max_element(spec.widths.begin(), spec.widths.end());
  if (widest + spec.gap <= spec.cell_size) {
    result.angle = LabelAngle::Horizontal;
  } else if (spec.cell_size * kSqrtHalf >= spec.line_height) {
    result.angle = LabelAngle::Diagonal;
  } else {
    result.angle = LabelAngle::Vertical;
  }
  return true;
}

// The longest text that stays within max_extent at the chosen angle.
float width_limit(const AxisLabelSpec& spec, LabelAngle angle) {
  if (spec.side == AxisSide::Rows || angle == LabelAngle::Vertical) return spec.max_extent;
  if (angle == LabelAngle::Diagonal) return std::max(0.0F, spec.max_extent / kSqrtHalf - spec.line_height);
  return spec.cell_size;
}

float extent(const AxisLabelSpec& spec, LabelAngle angle, float widest) {
  if (spec.side == AxisSide::Rows || angle == LabelAngle::Vertical) return widest;
  if (angle == LabelAngle::Diagonal) return (widest + spec.line_height) * kSqrtHalf;
  return spec.line_height;
}

}  // namespace

float degrees(LabelAngle angle) { return 45.0F * static_cast<float>(angle); }

AxisLabels lay_out_labels(const AxisLabelSpec& spec) {
  AxisLabels result;
  if (spec.count == 0 || !(spec.cell_size > 0.0F)) return result;
  const bool has_words = try_words(spec, result);
  const float index_width = static_cast<float>(digits(spec.count - 1)) * spec.digit_width;
  if (!has_words) {
    result.shows_indices = true;
    result.step =
        std::max(nice_step(spec.cell_size, spec.side == AxisSide::Rows ? needed_line(spec) : index_width + spec.gap),
                 spec.least_step);
  }
  const float limit = width_limit(spec, result.angle);
  float widest = 0.0F;
  // The first multiple of the step whose cell's centre is visible; doubles hold thousands of cells without drift.
  const double cell = static_cast<double>(spec.cell_size);
  const double first_visible = std::max(0.0, std::ceil(-static_cast<double>(spec.origin) / cell - 0.5));
  const auto first = static_cast<std::uint64_t>(first_visible);
  for (std::uint64_t i = (first + result.step - 1) / result.step * result.step; i < spec.count; i += result.step) {
    const auto center = static_cast<float>(static_cast<double>(spec.origin) + (static_cast<double>(i) + 0.5) * cell);
    if (center > spec.length) break;
    const auto index = static_cast<std::uint32_t>(i);
    const float natural = has_words ? spec.widths[index] : static_cast<float>(digits(index)) * spec.digit_width;
    const bool is_short = has_words && natural > limit;
    const float width = is_short ? limit : natural;
    widest = std::max(widest, width);
    result.labels.push_back({index, center, width, is_short});
  }
  result.extent = extent(spec, result.angle, widest);
  return result;
}

}  // namespace headlight::chart
