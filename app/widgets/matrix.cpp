#include "app/widgets/matrix.h"

#include "app/shapes/table.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr float kMatrixGap = 2.0F;
constexpr float kHeader = 18.0F;        // of the columns' names
constexpr float kNumberGutter = 30.0F;  // of the rows' names
constexpr float kMinCell = 10.0F, kMaxCell = 120.0F, kLowCell = 24.0F, kHighCell = 44.0F;
// These hold for a matrix with rows of text:
constexpr float kTextRow = 18.0F, kMinTextCell = 5.0F, kMaxTextCell = 52.0F;
constexpr float kTextShare = 0.3F, kMinText = 60.0F, kMaxText = 150.0F, kTextGap = 8.0F;

/// Returns "L3" of a layer.
std::string name_in(const exporting::FigureAxis& axis, std::size_t index) {
  return axis.title == "layer" ? "L" + axis.tokens[index] : axis.tokens[index];
}

/// The layout of cells, from the map's corner.
struct Grid {
  float gutter = 0.0F;
  glm::vec2 cell{0.0F};

  float x(std::size_t column) const { return gutter + static_cast<float>(column) * (cell.x + kMatrixGap); }
  float y(std::size_t row) const { return static_cast<float>(row) * (cell.y + kMatrixGap); }
};

Grid grid_of(const Matrix& matrix, float width, bool has_text_rows) {
  const float gutter = has_text_rows ? std::floor(std::clamp(width * kTextShare, kMinText, kMaxText)) : kNumberGutter;
  const float room = (width - gutter) / static_cast<float>(std::max<std::size_t>(matrix.columns.tokens.size(), 1));
  const float edge = std::clamp(std::floor(room) - kMatrixGap, has_text_rows ? kMinTextCell : kMinCell,
                                has_text_rows ? kMaxTextCell : kMaxCell);
  const float low = std::min(edge, std::clamp(std::floor(0.45F * edge), kLowCell, kHighCell));
  return {.gutter = gutter, .cell = {edge, has_text_rows ? kTextRow : low}};
}

/// Draws the columns' names, as many as have room.
void draw_column_names(const Frame& frame, const MatrixMap& map, const Grid& grid) {
  ImFont* font = frame.ui.fonts().small;
  const glm::vec2 origin = to_glm(ImGui::GetCursorScreenPos());
  const float room = map.has_text_rows ? text_width(font, "L00") + 4.0F : text_width(font, "000") + 2.0F;
  std::size_t step = 1;
  while (static_cast<float>(step) * (grid.cell.x + kMatrixGap) < room) ++step;
  for (std::size_t column = 0; column < map.matrix.columns.tokens.size(); column += step) {
    const float span = static_cast<float>(step) * (grid.cell.x + kMatrixGap) - kMatrixGap;
    const std::string name = fit_text(font, name_in(map.matrix.columns, column), std::max(span, room));
    const float x = origin.x + grid.x(column) + (grid.cell.x - text_width(font, name)) * 0.5F;
    put_text(font, {std::round(x), origin.y}, frame.ui.theme().text_dim, name);
  }
  ImGui::SetCursorScreenPos({origin.x, origin.y + kHeader});
}

void draw_row_name(Frame& frame, const MatrixMap& map, std::size_t row, const Grid& grid, glm::vec2 origin) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  if (!map.has_text_rows && grid.cell.y < font_size(font) && row % 2 != 0) return;
  std::string name = name_in(map.matrix.rows, row);
  const float y = std::round(origin.y + grid.y(row) + (grid.cell.y - font_size(font)) * 0.5F);
  if (!map.has_text_rows) return put_text(font, {origin.x, y}, theme.text_dim, name);
  frame.ui.ensure_glyphs(name);
  name = fit_text(font, name, grid.gutter - kTextGap);
  const bool is_selected = map.selected && map.selected->row == row;
  put_text(font, {origin.x + grid.gutter - kTextGap - text_width(font, name), y}, is_selected ? theme.accent : theme.text,
           name);
}

void draw_cell(Frame& frame, const MatrixMap& map, MatrixCell cell, double largest, const chart::Rect& box,
               MatrixClick& click) {
  const std::optional<double> value = map.matrix.cells[cell.row][cell.column];
  ImGui::SetCursorScreenPos(box.origin);
  const std::string name = map.name(cell);
  // Ctrl and a click ask where the number is from.
  if (click_area(name.c_str(), box.size) && !ImGui::GetIO().KeyCtrl) click.cell = cell;
  const bool is_selected = map.selected == cell, is_hovered = ImGui::IsItemHovered();
  // A key has no double click: pressed again, the selected cell is opened.
  if (click.cell == cell && is_selected && frame.ui.keyboard().is_active()) click.is_double = true;
  if (is_hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) click = {.cell = cell, .is_double = true};
  if (is_hovered) click.hovered = cell;
  if (map.drag) map.drag(cell);
  const bool is_told = is_hovered || frame.tips != nullptr;
  const std::string words = !is_told                   ? ""
                            : value                    ? map.about(cell)
                            : map.matrix.hides_missing ? "hidden by the mask"
                                                       : "not computed yet";
  if (is_hovered) frame.ui.ensure_glyphs(words);
  mark_last_item(frame, name, words.c_str());
  if (is_selected) frame.ui.keyboard().prefer_last();
  draw_map_cell(frame, {.box = box,
                        .value = value,
                        .largest = largest,
                        .is_signed = map.matrix.is_signed,
                        .has_log_colors = map.matrix.has_log_colors,
                        .is_hidden = !value && map.matrix.hides_missing,
                        .is_selected = is_selected,
                        .is_hovered = is_hovered});
}

}  // namespace

double Matrix::largest(double least) const {
  for (const auto& row : cells) {
    for (const std::optional<double>& value : row) {
      if (value && std::isfinite(*value)) least = std::max(least, std::abs(*value));
    }
  }
  return least;
}

std::string Matrix::csv() const {
  Table table{.rows = cells.size()};
  table.add({.title = rows.title}, [&](std::size_t row) { return rows.tokens[row]; });
  for (std::size_t column = 0; column < columns.tokens.size(); ++column) {
    table.add({.title = columns.tokens[column]},
              [&](std::size_t row) { return column < cells[row].size() ? cells[row][column] : std::nullopt; });
  }
  return app::csv(table);
}

exporting::HeatmapFigure Matrix::figure(chart::ColorMap color_map) const {
  exporting::HeatmapFigure figure{.title = {}, .subtitle = {}, .map = {}, .rows = rows, .columns = columns, .style = {}};
  figure.map.rows = static_cast<std::uint32_t>(cells.size());
  figure.map.columns = static_cast<std::uint32_t>(columns.tokens.size());
  for (const auto& row : cells) {
    for (std::size_t column = 0; column < columns.tokens.size(); ++column) {
      const bool is_known = column < row.size() && row[column];
      const double value = is_known ? *row[column] : 0.0;
      figure.map.values.push_back(static_cast<float>(has_log_colors ? std::abs(value) : value));
      figure.map.masked.push_back(is_known ? 0 : 1);
    }
  }
  figure.value_title = title;
  figure.masked_title = hides_missing ? "masked" : "no value";
  figure.marks_empty_rows = false;
  figure.style = {.color_map = color_map, .scale = chart::ScaleKind::Maximum};
  if (has_log_colors) figure.style.spread = chart::ScaleSpread::Log;
  if (is_signed) figure.style = exporting::diverging(figure.style);
  return figure;
}

float matrix_height(const Matrix& matrix, float width) {
  return kHeader + grid_of(matrix, width, false).y(matrix.cells.size());
}

MatrixClick draw_matrix(Frame& frame, const MatrixMap& map) {
  MatrixClick click;
  const std::size_t rows = map.matrix.cells.size();
  const float scrollbar = map.has_text_rows ? ImGui::GetStyle().ScrollbarSize : 0.0F;
  const Grid grid = grid_of(map.matrix, ImGui::GetContentRegionAvail().x - scrollbar, map.has_text_rows);
  const double largest = map.matrix.largest(map.least_end);
  draw_column_names(frame, map, grid);
  if (map.has_text_rows) ImGui::BeginChild("rows", {0.0F, 0.0F});
  {
    const shell::ControlGroup group(frame.ui.keyboard(), "map of numbers");
    const glm::vec2 origin = to_glm(ImGui::GetCursorScreenPos());
    std::size_t first = 0, end = rows;
    if (map.has_text_rows) {
      const float above = std::max(ImGui::GetWindowPos().y - origin.y, 0.0F);
      first = std::min(static_cast<std::size_t>(above / grid.y(1)), rows);
      end = std::min(static_cast<std::size_t>((above + ImGui::GetWindowHeight()) / grid.y(1)) + 1, rows);
    }
    for (std::size_t row = first; row < end; ++row) {
      draw_row_name(frame, map, row, grid, origin);
      for (std::size_t column = 0; column < map.matrix.cells[row].size(); ++column) {
        const chart::Rect box{.origin = origin + glm::vec2(grid.x(column), grid.y(row)), .size = grid.cell};
        draw_cell(frame, map, {.row = row, .column = column}, largest, box, click);
      }
    }
    ImGui::SetCursorScreenPos(to_imgui(origin));
    ImGui::Dummy({grid.x(map.matrix.columns.tokens.size()), grid.y(rows)});
  }
  if (map.has_text_rows) ImGui::EndChild();
  return click;
}

}  // namespace headlight::app
