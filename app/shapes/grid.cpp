#include "app/shapes/grid.h"

#include <cmath>

#include "chart/ellipsis.h"

namespace headlight::app {
namespace {

constexpr float kGridGap = 2.0F, kGridHeader = 18.0F, kGridNames = 8.0F;

/// Limits by GridKind.
struct GridLimits {
  float gutter, min_width, max_width;
};
constexpr std::array<GridLimits, 3> kGridLimits = {{{30.0F, 10.0F, 160.0F}, {60.0F, 5.0F, 96.0F}, {58.0F, 64.0F, 148.0F}}};
constexpr float kGutterShare = 0.3F, kMostGutter = 150.0F;   // of the width, for rows that are named by texts
constexpr float kLowCell = 24.0F, kHighCell = 64.0F;         // of numbers
constexpr float kMinTextRow = 18.0F, kMaxTextRow = 36.0F;    // of rows that are named by texts
constexpr float kMinTextCell = 22.0F, kMaxTextCell = 64.0F;  // of texts

/// Returns "L3" of a layer, "H5" of one of its heads.
std::string axis_name(const Grid& grid, bool is_row, std::size_t index) {
  const exporting::FigureAxis& axis = is_row ? grid.rows : grid.columns;
  const bool is_head = !is_row && axis.title == "head" && grid.rows.title == "layer";
  return (axis.title == "layer" ? "L" : is_head ? "H" : "") + axis.tokens[index];
}

template <typename Of>
void keep(std::vector<Of>& of, std::size_t first, std::size_t end) {
  of.resize(std::min(of.size(), end));
  of.erase(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(std::min(first, of.size())));
}

}  // namespace

std::pair<double, double> Grid::ends(double least) const {
  if (limits) return {limits->low, limits->high};
  for (const auto& row : cells) {
    for (const std::optional<double>& number : row) {
      if (number && std::isfinite(*number)) least = std::max(least, std::abs(*number));
    }
  }
  return {is_signed ? -least : 0.0, least};
}

double Grid::share(double number, const std::pair<double, double>& ends) const {
  const auto size = [&](double of) { return has_log_colors ? std::log1p(std::abs(of)) : of; };
  const auto [low, high] = ends;
  if (!(high > low)) return is_signed ? 0.5 : 0.0;
  return std::clamp((size(number) - size(low)) / (size(high) - size(low)), 0.0, 1.0);
}

Table Grid::table() const {
  Table table{.rows = cells.size()};
  table.add({.title = rows.title}, [&](std::size_t row) { return rows.tokens[row]; });
  for (std::size_t column = 0; column < columns.tokens.size(); ++column) {
    table.add({.title = columns.tokens[column]},
              [&](std::size_t row) { return column < cells[row].size() ? cells[row][column] : std::nullopt; });
  }
  return table;
}

exporting::HeatmapFigure Grid::figure(chart::ColorMap color_map) const {
  exporting::HeatmapFigure figure{.title = {}, .subtitle = {}, .map = {}, .rows = rows, .columns = columns, .style = {}};
  figure.map.rows = static_cast<std::uint32_t>(cells.size());
  figure.map.columns = static_cast<std::uint32_t>(columns.tokens.size());
  for (std::size_t row = 0; row < cells.size(); ++row) {
    for (std::size_t column = 0; column < columns.tokens.size(); ++column) {
      const bool is_known = column < cells[row].size() && cells[row][column];
      const double value = is_known ? *cells[row][column] : 0.0;
      figure.map.values.push_back(static_cast<float>(has_log_colors ? std::abs(value) : value));
      figure.map.masked.push_back(is_known ? 0 : 1);
      if (texts.empty()) continue;
      const std::string& text = texts[row][column];
      figure.texts.push_back(text.substr(0, text.find('\n')));
    }
  }
  figure.value_title = title;
  figure.masked_title = hides_missing ? "masked" : "no value";
  figure.marks_empty_rows = false;
  figure.style = {.color_map = color_map, .scale = chart::ScaleKind::Maximum};
  figure.style.limits = limits;
  if (has_log_colors) figure.style.spread = chart::ScaleSpread::Log;
  if (is_signed) figure.style = exporting::diverging(figure.style);
  return figure;
}

Grid part_of(Grid grid, const GridPart& part) {
  const auto cut = [&](auto& cells) {
    keep(cells, part.first_row, part.end_row);
    for (auto& row : cells) keep(row, part.first_column, part.end_column);
  };
  cut(grid.cells);
  cut(grid.texts);
  keep(grid.rows.tokens, part.first_row, part.end_row);
  keep(grid.columns.tokens, part.first_column, part.end_column);
  return grid;
}

GridLayout::GridLayout(const Grid& grid, GridLook look) : grid_(grid), look_(std::move(look)) {
  const bool has_texts = look_.kind == GridKind::Texts;
  const GridLimits& limits = kGridLimits[static_cast<std::size_t>(look_.kind)];
  const float gutter = look_.kind == GridKind::TextRows
                           ? std::floor(std::clamp(look_.room.x * kGutterShare, limits.gutter, kMostGutter))
                           : limits.gutter;
  corner_ = {gutter, kGridHeader};
  const glm::vec2 counts = glm::max(glm::vec2(grid.columns.tokens.size(), grid.cells.size()), 1.0F);
  const glm::vec2 room = glm::floor((look_.room - corner_) / counts) - kGridGap;
  const float width = std::clamp(room.x, limits.min_width, limits.max_width);
  const float low = std::min(width, std::clamp(std::floor(0.45F * width), kLowCell, kHighCell));
  const float height = has_texts                          ? std::clamp(room.y, kMinTextCell, kMaxTextCell)
                       : look_.kind == GridKind::TextRows ? std::clamp(room.y, kMinTextRow, kMaxTextRow)
                                                          : low;
  pitch_ = glm::vec2(width, height) + kGridGap;
}

chart::Rect GridLayout::cell(GridCell at) const { return {pitch_ * glm::vec2(at.column, at.row), pitch_ - kGridGap}; }

GridPart GridLayout::part(glm::vec2 from, glm::vec2 end) const {
  const auto index = [](float at, float pitch, std::size_t count) {
    return std::min(static_cast<std::size_t>(std::max(at, 0.0F) / pitch), count);
  };
  const std::size_t rows = grid_.cells.size(), columns = grid_.columns.tokens.size();
  return {.first_row = index(from.y, pitch_.y, rows),
          .end_row = index(end.y + pitch_.y, pitch_.y, rows),
          .first_column = index(from.x, pitch_.x, columns),
          .end_column = index(end.x + pitch_.x, pitch_.x, columns)};
}

std::vector<GridName> GridLayout::names(const GridPart& part, bool are_rows) const {
  const float least = are_rows ? look_.line : look_.width("L00") + 4.0F, pitch = are_rows ? pitch_.y : pitch_.x;
  const auto step = static_cast<std::size_t>(std::max(std::ceil(least / pitch), 1.0F));  // as many as have room
  const auto [first, end] =
      are_rows ? std::pair(part.first_row, part.end_row) : std::pair(part.first_column, part.end_column);
  const float room = are_rows ? corner_.x - kGridNames : std::max(static_cast<float>(step) * pitch - kGridGap, least);
  std::vector<GridName> names;
  for (std::size_t i = (first + step - 1) / step * step; i < end; i += step) {
    const glm::vec2 middle = cell({i, i}).center();
    const std::string name = chart::shorten(axis_name(grid_, are_rows, i), room, look_.width);
    const float width = look_.width(name);
    names.push_back({glm::round(are_rows ? glm::vec2(-kGridNames - width, middle.y - look_.line * 0.5F)
                                         : glm::vec2(middle.x - width * 0.5F, -kGridHeader)),
                     name, i});
  }
  return names;
}

}  // namespace headlight::app
