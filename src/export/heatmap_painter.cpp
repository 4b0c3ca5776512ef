#include "export/heatmap_painter.h"

#include "chart/color.h"
#include "chart/ellipsis.h"
#include "chart/number_format.h"

namespace headlight::exporting {
namespace {

constexpr std::uint32_t kMaxVectorEdge = 64;
// With more rectangles than this (a mask scattered over a large map) the image itself has the stripes.
constexpr std::size_t kMaxHatchRects = 4096;

/// Neither masked nor finite.
bool is_odd(const FigureMap& map, std::uint32_t row, std::uint32_t column) {
  return !map.is_masked(row, column) && !std::isfinite(map.at(row, column));
}

float row_top(const FigureMap& map, std::uint32_t row, const chart::ValueScale& scale) {
  return scale.kind == chart::ScaleKind::PerRow ? chart::row_maximum(map.row(row)) : 1.0F;
}

Rgb cell_color(const FigureMap& map, std::uint32_t row, std::uint32_t column, float top, const chart::ValueScale& scale,
               const FigureStyle& style, const Paper& paper) {
  if (map.is_blank(row, column)) return paper.blank;
  if (is_odd(map, row, column)) return chart::kNotFinite;
  return chart::color(style.color_map, scale.position(map.at(row, column), top));
}

// Rectangles that cover the masked cells: runs of a row, joined with equal runs of the rows below.
std::vector<Rect> masked_rects(const FigureMap& map, const CellGrid& grid) {
  struct Run {
    std::uint32_t column = 0, columns = 0;
    std::size_t rect = 0;
  };
  std::vector<Rect> rects;
  std::vector<Run> above, current;
  for (std::uint32_t row = 0; row < map.value_rows(); ++row) {
    current.clear();
    auto same = above.begin();  // runs of both rows are ordered by column
    for (std::uint32_t column = 0; column < map.value_columns();) {
      if (!map.is_masked(row, column)) {
        ++column;
        continue;
      }
      std::uint32_t end = column + 1;
      while (end < map.value_columns() && map.is_masked(row, end)) ++end;
      while (same != above.end() && same->column < column) ++same;
      if (same != above.end() && same->column == column && same->columns == end - column) {
        rects[same->rect].size.y += grid.value.y;
        current.push_back(*same);
      } else {
        current.push_back({column, end - column, rects.size()});
        rects.push_back(grid.rect(row, column, end - column));
      }
      column = end;
    }
    std::swap(above, current);
  }
  return rects;
}

void fill_runs(Canvas& canvas, const FigureMap& map, const CellGrid& grid, const chart::ValueScale& scale,
               const FigureStyle& style, const Paper& paper) {
  for (std::uint32_t row = 0; row < map.value_rows(); ++row) {
    const float top = row_top(map, row, scale);
    for (std::uint32_t column = 0; column < map.value_columns();) {
      const Rgb color = cell_color(map, row, column, top, scale, style, paper);
      std::uint32_t end = column + 1;
      while (end < map.value_columns() && cell_color(map, row, end, top, scale, style, paper) == color) ++end;
      canvas.fill(grid.rect(row, column, end - column), color);
      column = end;
    }
  }
}

/// Draws stripes into the image itself, because the map has too many masked pieces to draw each.
void add_stripes(const FigureMap& map, const CellGrid& grid, Rgb stripe, Pixels& pixels) {
  const auto period = static_cast<std::uint32_t>(std::max(3.0F, std::round(kHatchPeriod / grid.value.x)));
  const auto width = static_cast<std::uint32_t>(std::max(1.0F, std::round(kHatchWidth / grid.value.x)));
  for (std::uint32_t row = 0; row < pixels.height; ++row) {
    for (std::uint32_t column = 0; column < pixels.width; ++column) {
      const bool is_striped = map.is_masked(row, column) && (row + column) % period < width;
      if (is_striped) pixels.rgba[std::size_t{row} * pixels.width + column] = chart::pack(stripe);
    }
  }
}

}  // namespace

Pixels color_values(const FigureMap& map, const chart::ValueScale& scale, chart::ColorMap colors, Rgb blank) {
  const std::span<const std::uint32_t, 256> table = chart::table(colors);
  Pixels pixels{map.value_columns(), map.value_rows(), {}};
  pixels.rgba.reserve(map.values.size());
  for (std::uint32_t row = 0; row < pixels.height; ++row) {
    const float top = row_top(map, row, scale);
    for (std::uint32_t column = 0; column < pixels.width; ++column) {
      const auto step = static_cast<std::size_t>(std::lround(scale.position(map.at(row, column), top) * 255.0F));
      pixels.rgba.push_back(map.is_blank(row, column)  ? chart::pack(blank)
                            : is_odd(map, row, column) ? chart::kNotFinitePacked
                                                       : table[step]);
    }
  }
  return pixels;
}

void paint_cells(Canvas& canvas, const FigureMap& map, const CellGrid& grid, const chart::ValueScale& scale,
                 const FigureStyle& style, const Paper& paper) {
  const std::vector<Rect> masked = masked_rects(map, grid);
  const bool is_vector = std::max(map.value_rows(), map.value_columns()) <= kMaxVectorEdge;
  const bool has_few_pieces = is_vector || masked.size() <= kMaxHatchRects;
  if (is_vector) {
    fill_runs(canvas, map, grid, scale, style, paper);
  } else {
    Pixels pixels = color_values(map, scale, style.color_map, paper.blank);
    if (!has_few_pieces) add_stripes(map, grid, paper.stripe, pixels);
    canvas.image(grid.area, pixels);
  }
  if (has_few_pieces) canvas.hatch(masked, paper.stripe);
  canvas.frame(grid.area, paper.outline, 0.75F);
}

std::optional<CellNumbers> fit_numbers(const FigureMap& map, const CellGrid& grid, const TextMetrics& metrics) {
  constexpr float kMinSize = 7.5F, kMaxSize = 11.0F, kPadding = 5.0F;
  const float size = std::min({kMaxSize, 0.30F * grid.value.x, 0.55F * grid.value.y});
  if (!map.is_exact() || size < kMinSize) return std::nullopt;
  std::vector<float> numbers;
  for (std::uint32_t row = 0; row < map.rows; ++row) {
    for (std::uint32_t column = 0; column < map.columns; ++column) {
      if (!map.is_blank(row, column)) numbers.push_back(map.at(row, column));
    }
  }
  const auto is_large = [](float value) { return std::isfinite(value) && std::abs(value) >= 10.0F; };
  const bool has_large = std::any_of(numbers.begin(), numbers.end(), is_large);
  const std::uint32_t most = has_large ? 2 : 3, least = has_large ? 0 : 2;
  for (std::uint32_t decimals = most + 1; decimals-- > least;) {
    const bool fits = std::all_of(numbers.begin(), numbers.end(), [&](float value) {
      return metrics.width(chart::format_fixed(value, decimals), size) + kPadding <= grid.value.x;
    });
    if (fits) return CellNumbers{size, decimals};
  }
  return std::nullopt;
}

void paint_texts(Canvas& canvas, const FigureMap& map, const CellGrid& grid, std::span<const std::string> texts,
                 const TextMetrics& metrics, const chart::ValueScale& scale, const FigureStyle& style, const Paper& paper) {
  constexpr float kSize = 8.5F, kPadding = 5.0F;
  for (std::uint32_t row = 0; row < map.rows; ++row) {
    const float top = row_top(map, row, scale);
    for (std::uint32_t column = 0; column < map.columns; ++column) {
      const Rect cell = grid.rect(row, column);
      const std::string text = chart::shorten(printable(texts[std::size_t{row} * map.columns + column]),
                                              cell.size.x - kPadding, metrics.measure(kSize));
      const Rgb ink =
          map.is_blank(row, column) ? paper.ink : chart::text_on(cell_color(map, row, column, top, scale, style, paper));
      canvas.text(cell.center() + glm::vec2(0.0F, kHalfCapital * kSize), text,
                  {.size = kSize, .color = ink, .align = TextAlign::Middle});
    }
  }
}

void paint_numbers(Canvas& canvas, const FigureMap& map, const CellGrid& grid, const CellNumbers& numbers,
                   const chart::ValueScale& scale, const FigureStyle& style, const Paper& paper) {
  for (std::uint32_t row = 0; row < map.value_rows(); ++row) {
    const float top = row_top(map, row, scale);
    for (std::uint32_t column = 0; column < map.value_columns(); ++column) {
      if (map.is_blank(row, column)) continue;
      const Rgb ground = cell_color(map, row, column, top, scale, style, paper);
      const Rect cell = grid.rect(row, column);
      canvas.text({cell.origin.x + cell.size.x / 2, cell.origin.y + cell.size.y / 2 + kHalfCapital * numbers.size},
                  chart::format_fixed(map.at(row, column), numbers.decimals),
                  {.size = numbers.size, .color = chart::text_on(ground), .align = TextAlign::Middle});
    }
  }
}

}  // namespace headlight::exporting
