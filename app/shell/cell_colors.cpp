#include "app/shell/cell_colors.h"

#include <algorithm>
#include <cmath>

#include "chart/color.h"

namespace headlight::shell {
namespace {

constexpr std::uint32_t kRgb = 0x00FF'FFFFU;
constexpr std::uint32_t kStriped = 0xFF00'0000U;

/// Returns `top` over an opaque ground; the result's alpha is 0.
std::uint32_t over(std::uint32_t ground, std::uint32_t top) {
  const float alpha = static_cast<float>(top >> 24) / 255.0F;
  std::uint32_t result = 0;
  for (const std::uint32_t shift : {0U, 8U, 16U}) {
    const auto below = static_cast<float>(ground >> shift & 0xFFU);
    const auto above = static_cast<float>(top >> shift & 0xFFU);
    result |= static_cast<std::uint32_t>(std::lround(below + (above - below) * alpha)) << shift;
  }
  return result;
}

/// A cell's number, after pooling.
struct Found {
  float value;
  bool is_masked;
};

class Colors {
 public:
  Colors(const HeatmapImage& image, const CellColoring& coloring)
      : image_(image), coloring_(coloring), range_(coloring.high - coloring.low) {
    if (coloring.spread == chart::ScaleSpread::Log && range_ > 0.0F) log_range_ = std::log(coloring.high / coloring.low);
  }

  Found cell(std::uint32_t row, std::uint32_t column) const {
    const std::size_t at = std::size_t{row} * image_.columns + column;
    const float value = image_.values[at];
    return {.value = image_.row_scale.empty() ? value : value * image_.row_scale[row],
            .is_masked = !image_.masked.empty() && image_.masked[at] != 0};
  }

  Found pooled(std::uint32_t row, std::uint32_t column) const {
    Found found = cell(row, column);
    const std::uint32_t end_row = std::min(row + coloring_.pooled_rows, image_.rows);
    const std::uint32_t end_column = std::min(column + coloring_.pooled_columns, image_.columns);
    for (std::uint32_t r = row; r < end_row; ++r) {
      for (std::uint32_t c = column; c < end_column; ++c) {
        const Found other = cell(r, c);
        if (other.is_masked) continue;
        const bool is_larger = std::isfinite(found.value) && other.value > found.value;
        if (found.is_masked || !std::isfinite(other.value) || is_larger) found = other;
      }
    }
    return found;
  }

  std::uint32_t of(const Found& found) const {
    if (!found.is_masked) {
      return std::isfinite(found.value) ? mapped(found.value) & kRgb : chart::kNotFinitePacked & kRgb;
    }
    const std::uint32_t ground = std::isnan(found.value) ? coloring_.missing : mapped(found.value);
    return over(ground, coloring_.hatch_ground) | kStriped;
  }

 private:
  std::uint32_t mapped(float value) const {
    const float inside = std::min(std::max(value, coloring_.low), coloring_.high);
    float part = range_ > 0.0F ? (inside - coloring_.low) / range_ : 0.0F;
    if (coloring_.spread == chart::ScaleSpread::Root) part = std::sqrt(part);
    if (log_range_ > 0.0F) part = std::log(inside / coloring_.low) / log_range_;
    const float place = part > 0.0F ? std::min(part, 1.0F) : 0.0F;  // NaN, of a range that isn't finite, is 0
    return image_.color_map[static_cast<std::size_t>(place * 255.0F + 0.5F)];
  }

  const HeatmapImage& image_;
  const CellColoring& coloring_;
  float range_;
  float log_range_ = 0.0F;
};

/// Copies an image's own colours, each the mean of those that share a pixel with it.
void copy_pixels(const HeatmapImage& image, const CellColoring& coloring, std::span<std::uint32_t> colors) {
  std::size_t at = 0;
  for (std::uint32_t row = 0; row < image.rows; ++row) {
    const std::uint32_t end_row = std::min(row + coloring.pooled_rows, image.rows);
    for (std::uint32_t column = 0; column < image.columns; ++column) {
      const std::uint32_t end_column = std::min(column + coloring.pooled_columns, image.columns);
      const std::uint32_t count = (end_row - row) * (end_column - column);
      std::uint32_t mean = 0;
      for (const std::uint32_t shift : {0U, 8U, 16U}) {
        std::uint32_t sum = 0;
        for (std::uint32_t r = row; r < end_row; ++r) {
          for (std::uint32_t c = column; c < end_column; ++c)
            sum += image.pixels[std::size_t{r} * image.columns + c] >> shift & 0xFFU;
        }
        mean |= (sum + count / 2) / count << shift;
      }
      colors[at++] = mean;
    }
  }
}

}  // namespace

CellColoring coloring_of(const HeatmapImage& image, float pixels_per_column, float pixels_per_row) {
  const bool is_log = image.spread == chart::ScaleSpread::Log;
  const auto pooled = [](float pixels) {
    return static_cast<std::uint32_t>(std::clamp(std::ceil(1.0F / pixels - 0.01F), 1.0F, static_cast<float>(kMaxPooled)));
  };
  return {.low = is_log ? chart::log_floor(image.low, image.high) : image.low,
          .high = image.high,
          .spread = image.spread,
          .hatch_ground = image.hatch_ground,
          .missing = image.missing,
          .pooled_rows = pooled(pixels_per_row),
          .pooled_columns = pooled(pixels_per_column)};
}

void color_cells(const HeatmapImage& image, const CellColoring& coloring, std::span<std::uint32_t> colors) {
  if (!image.pixels.empty()) return copy_pixels(image, coloring, colors);
  const Colors known(image, coloring);
  const bool is_pooled = coloring.pooled_rows > 1 || coloring.pooled_columns > 1;
  std::size_t at = 0;
  for (std::uint32_t row = 0; row < image.rows; ++row) {
    for (std::uint32_t column = 0; column < image.columns; ++column) {
      colors[at++] = known.of(is_pooled ? known.pooled(row, column) : known.cell(row, column));
    }
  }
}

}  // namespace headlight::shell
