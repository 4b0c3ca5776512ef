#include "app/views/steps/matrix_view.h"

#include "app/widgets/cell_numbers.h"
#include "app/widgets/controls.h"
#include "app/widgets/range_bar.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/tile_numbers.h"
#include "chart/axis_labels.h"
#include "chart/color.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kTitleHeight = 21.0F;
constexpr float kFormulaHeight = 21.0F;
constexpr float kShapeHeight = 19.0F;
constexpr float kAxesHeight = 17.0F;
constexpr float kAxesGap = 16.0F;    // between the shape and the axes' names where they share a line
constexpr float kScrollRoom = 9.0F;  // beside or below the cells of a matrix that isn't shown as a whole
constexpr float kScrollWidth = 5.0F;
constexpr float kMinBar = 88.0F;  // both ends' numbers fit below
constexpr float kRemarkHeight = 18.0F;
constexpr std::uint32_t kMatrixPlace = 0x57;

/// Returns the distance of the numbered rows or columns, so that the numbers keep `room` UI units apart.
std::uint32_t tick_step(float cell, float room) {
  for (std::uint32_t decade = 1;; decade *= 10) {
    for (const std::uint32_t factor : {1U, 2U, 5U}) {
      if (cell * static_cast<float>(decade * factor) >= room) return decade * factor;
    }
  }
}

bool scrolls_rows(const MatrixPlan& plan) { return plan.shown_rows < plan.rows; }
bool scrolls_columns(const MatrixPlan& plan) { return plan.shown_columns < plan.columns; }

/// Returns the height of what is below the cells, without the remark.
float below(const MatrixPlan& plan) { return kMatrixBar + (scrolls_columns(plan) ? kScrollRoom : 0.0F); }

/// Draws "query ↓   d_k →" above the numbers of the columns.
void draw_axes_names(const Frame& frame, const MatrixView& view, glm::vec2 at) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const std::string rows = view.row_axis + " ↓";
  const shell::Color row_color = view.plan.stage.is_weight()      ? theme.text_dim
                                 : view.plan.stage.has_key_rows() ? theme.key
                                                                  : theme.query;
  const float width = draw_math(fonts, fonts.small, at, row_color, rows);
  draw_math(fonts, fonts.small, {at.x + width + 12.0F, at.y}, view.plan.stage.is_map() ? theme.key : theme.text_dim,
            view.column_axis + " →");
}

void draw_caption(const Frame& frame, const MatrixView& view) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const float x = view.cells().origin.x;
  float y = view.origin.y;
  const shell::Color role = step_color(view.plan.stage, theme);
  if (!view.is_alone) {
    const char* symbol = step_symbol(view.plan.stage);
    const float symbol_width = draw_math(fonts, fonts.strong, {x, y}, role, symbol);
    if (view.title != symbol) {
      put_text(fonts.body, {x + symbol_width + 7.0F, y}, theme.text, view.title);
    }
    y += kTitleHeight;
    draw_math(fonts, fonts.body, {x, y}, theme.text_dim, view.formula);
    y += kFormulaHeight;
  }
  const float shape = draw_math(fonts, fonts.small, {x, y}, theme.text_dim, view.shape);
  if (!view.is_alone) y += kShapeHeight;
  draw_axes_names(frame, view, {view.is_alone ? x + shape + kAxesGap : x, y});
  if (view.remark.empty()) return;
  const chart::Rect cells = view.cells();
  put_text(fonts.small, {x, cells.end().y + below(view.plan)}, theme.text_dim, view.remark);
}

void draw_row_labels(const Frame& frame, const MatrixView& view) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* digits = frame.ui.fonts().mono_small;
  ImFont* words = frame.ui.fonts().small;
  const MatrixPlan& plan = view.plan;
  const chart::Rect cells = view.cells();
  const shell::Color color = plan.stage.is_weight() ? theme.text_dim : plan.stage.has_key_rows() ? theme.key : theme.query;
  const std::uint32_t step = tick_step(plan.cell.y, 13.0F);
  for (std::uint32_t row = plan.first_row; row < plan.first_row + plan.shown_rows; ++row) {
    if (row % step != 0) continue;
    const float middle = cells.origin.y + (static_cast<float>(row - plan.first_row) + 0.5F) * plan.cell.y;
    const std::string number = fmt::format("{}", row);
    const float width = text_width(digits, number);
    const float number_x = cells.origin.x - 5.0F - width;
    put_text(digits, {number_x, std::round(middle - font_size(digits) * 0.5F)}, color, number);
    if (!view.row_tokens || row >= view.row_tokens->size()) continue;
    const std::string token = fit_text(words, (*view.row_tokens)[row], number_x - view.origin.x - 8.0F);
    const float token_width = text_width(words, token);
    put_text(words, {number_x - 7.0F - token_width, std::round(middle - font_size(words) * 0.5F)}, theme.text, token);
  }
}

constexpr float kSlant = 0.70710678F;
constexpr float kLabelAir = 5.0F;  // between labels and cells

/// Returns the labels of the columns in sight.
chart::AxisLabels column_labels(const Frame& frame, const MatrixView& view, float most) {
  ImFont* font = frame.ui.fonts().small;
  const MatrixPlan& plan = view.plan;
  const float line = font_size(font);
  std::vector<float> widths;
  if (view.column_tokens && plan.cell.x >= line) {
    for (const std::string& token : *view.column_tokens) widths.push_back(text_width(font, token));
  }
  return chart::lay_out_labels({.count = plan.columns,
                                .widths = widths,
                                .cell_size = plan.cell.x,
                                .origin = -static_cast<float>(plan.first_column) * plan.cell.x,
                                .length = plan.size().x,
                                .line_height = line,
                                .digit_width = text_width(frame.ui.fonts().mono_small, "0"),
                                .max_extent = most,
                                .gap = line});
}

void draw_column_labels(const Frame& frame, const MatrixView& view) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const chart::Rect cells = view.cells();
  const shell::Color color = view.plan.stage.is_map() ? theme.key : theme.text_dim;
  const chart::AxisLabels labels = column_labels(frame, view, view.ticks - kLabelAir);
  for (const chart::AxisLabel& label : labels.labels) {
    const float x = cells.origin.x + label.center, bottom = cells.origin.y - kLabelAir;
    const bool is_token = view.column_tokens && !labels.shows_indices && label.index < view.column_tokens->size();
    if (!is_token) {
      const std::string number = fmt::format("{}", label.index);
      put_text(fonts.mono_small, {std::round(x - text_width(fonts.mono_small, number) * 0.5F), bottom - 10.0F}, color,
               number);
      continue;
    }
    const std::string text = fit_text(fonts.small, (*view.column_tokens)[label.index], label.width);
    if (labels.angle == chart::LabelAngle::Horizontal) {
      put_text(fonts.small, {std::round(x - label.width * 0.5F), bottom - font_size(fonts.small)}, color, text);
    } else {
      const glm::vec2 along =
          labels.angle == chart::LabelAngle::Diagonal ? glm::vec2(kSlant, -kSlant) : glm::vec2(0.0F, -1.0F);
      draw_turned_text(fonts.small, {x, bottom - 2.0F}, along, color, text);
    }
  }
}

/// Outlines a part of the matrix, as far as it is shown: a line of the colour on a darker one, visible on any cell.
void outline(const Frame& frame, const MatrixView& view, const MatrixPart& part, shell::Color color, float thickness) {
  const MatrixPlan& plan = view.plan;
  const std::uint32_t top = std::max(part.row, plan.first_row);
  const std::uint32_t left = std::max(part.column, plan.first_column);
  const std::uint32_t bottom = std::min(part.row + part.rows, plan.first_row + plan.shown_rows);
  const std::uint32_t right = std::min(part.column + part.columns, plan.first_column + plan.shown_columns);
  if (top >= bottom || left >= right) return;
  const glm::vec2 low = view.cells().origin + glm::vec2(left - plan.first_column, top - plan.first_row) * plan.cell;
  const glm::vec2 high = low + glm::vec2(right - left, bottom - top) * plan.cell;
  outline_rect(low - 1.0F, high + 1.0F, frame.ui.theme().background, 2.0F, thickness + 2.5F);
  outline_rect(low - 1.0F, high + 1.0F, color, 2.0F, thickness);
}

void draw_marks(const Frame& frame, const MatrixView& view, const MatrixMarks& marks) {
  const shell::Theme& theme = frame.ui.theme();
  if (marks.row)
    outline(frame, view, {.stage = view.plan.stage, .row = *marks.row, .columns = view.plan.columns}, theme.query, 1.0F);
  for (const MatrixPart& part : marks.slices) {
    if (part.stage == view.plan.stage) outline(frame, view, part, theme.output, 1.5F);
  }
  for (const MatrixPart& part : marks.sources) {
    if (part.stage == view.plan.stage) outline(frame, view, part, theme.accent, 2.0F);
  }
  if (!marks.hovered) return;
  outline(frame, view, {.stage = view.plan.stage, .row = marks.hovered->query, .column = marks.hovered->key}, theme.text,
          2.0F);
}

/// Draws a bar in each head's colour above its columns.
void draw_heads(const Frame& frame, const MatrixView& view) {
  const MatrixPlan& plan = view.plan;
  const chart::Rect cells = view.cells();
  const shell::Theme& theme = frame.ui.theme();
  const std::uint32_t end = plan.first_column + plan.shown_columns;
  for (std::uint32_t at = plan.first_column; view.head_width > 0 && at < end;) {
    const std::uint32_t head = at / view.head_width;
    const std::uint32_t next = std::min((head + 1) * view.head_width, end);
    const float left = cells.origin.x + static_cast<float>(at - plan.first_column) * plan.cell.x;
    const float right = cells.origin.x + static_cast<float>(next - plan.first_column) * plan.cell.x;
    const shell::Color color = shell::mark_on(theme.background, chart::pack(chart::head_color(head)), theme.text);
    fill_rect({left + 0.5F, cells.origin.y - 4.0F}, {right - 0.5F, cells.origin.y - 1.0F}, color);
    at = next;
  }
}

/// Returns the cells' tile, none while the numbers aren't known, and the place of its image.
std::pair<ShownTile, std::uint32_t> find_cells(Frame& frame, const MatrixView& view, StepValues& values,
                                               const HeadSubject& subject) {
  if (view.plan.stage.is_stage()) return {find_tile(frame, view.query(frame)), kMatrixPlace};
  constexpr std::uint32_t kOtherPlaces = 0x5700;  // their requests only name sizes
  const StepValues::Known* known = values.find(frame, view.plan.stage, subject, view.window());
  const std::uint32_t place = kOtherPlaces + static_cast<std::uint32_t>(*step_symbol(view.plan.stage)) +
                              static_cast<std::uint32_t>(step_name(view.plan.stage).back()) * 128U +
                              view.plan.first_column * 0x10000U;
  if (!known) return {};
  const bool is_share = view.plan.stage == StepMatrix::Other::ExpertLoad;
  const TileQuery sizes{.quantity = is_share ? Stage::FfnGates : Stage::X,  // which has the same colours
                        .row = view.plan.first_row,
                        .rows = view.plan.shown_rows,
                        .column = view.plan.first_column,
                        .columns = view.plan.shown_columns};
  return {{.query = sizes, .tile = &known->tile, .run = known->revision, .facts = &known->facts}, place};
}

void draw_cells(Frame& frame, const MatrixView& view, StepValues& values, const HeadSubject& subject) {
  const shell::Theme& theme = frame.ui.theme();
  const chart::Rect cells = view.cells();
  const auto [shown_tile, place] = find_cells(frame, view, values, subject);
  if (!shown_tile.tile) {
    fill_rect(cells, theme.missing);
    return;
  }
  shell::HeatmapImage image = heatmap_of(shown_tile, place, theme);
  image.area = cells;
  color_matrix(frame, image, shown_tile);
  draw_heatmap(frame, image);
  // Colours near the ground's would vanish into it.
  outline_rect(cells.origin - 1.0F, cells.end() + 1.0F, theme.border);
  if (view.plan.has_numbers) draw_cell_numbers(frame, image, *shown_tile.tile);
  draw_weight_marks(frame, image, *shown_tile.tile);
  const float bar_width = std::clamp(cells.size.x, kMinBar, 150.0F);
  const float bar_y = cells.end().y + 9.0F + (scrolls_columns(view.plan) ? kScrollRoom : 0.0F);
  draw_small_color_bar(frame, {.origin = {cells.origin.x, bar_y}, .size = {bar_width, 5.0F}}, image,
                       shown_tile.facts->range.high);
}

/// Draws a scroll bar in `track`, upright or level, for `shown` of `count` from `first` on. Returns where it is moved to.
std::optional<std::uint32_t> draw_scroll_bar(Frame& frame, const std::string& name, const chart::Rect& track,
                                             bool is_upright, std::uint32_t first, std::uint32_t shown,
                                             std::uint32_t count) {
  const shell::Theme& theme = frame.ui.theme();
  ImGui::SetCursorScreenPos(track.origin - 2.0F);
  click_area(name.c_str(), track.size + 4.0F);
  mark_last_item(frame, name, is_upright ? "Scrolls through the rows." : "Scrolls through the columns.");
  const bool is_held = ImGui::IsItemActive();
  const glm::length_t axis = is_upright ? 1 : 0;
  const float length = track.size[axis];
  const float all = static_cast<float>(count);
  chart::Rect grip = track;
  grip.origin[axis] += length * static_cast<float>(first) / all;
  grip.size[axis] = std::max(length * static_cast<float>(shown) / all, 8.0F);
  fill_rect(track, theme.field, 2.5F);
  const shell::Color color = is_held || ImGui::IsItemHovered() ? theme.accent : theme.text_dim;
  fill_rect(grip, color, 2.5F);
  if (const int steps = frame.ui.keyboard().steps_of_last(false); steps != 0 && count > shown) {
    const std::int64_t wanted = std::int64_t{first} + steps * std::int64_t{std::max(shown / 4, 1U)};
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(wanted, 0, count - shown));
  }
  if (!is_held) return std::nullopt;
  const float at = (pointer_position() - track.origin)[axis] / std::max(length, 1.0F);
  const float middle = at * all - static_cast<float>(shown) * 0.5F;
  return static_cast<std::uint32_t>(std::clamp(std::round(middle), 0.0F, static_cast<float>(count - shown)));
}

/// Returns `first` moved by the wheel, up where it is positive.
std::uint32_t wheeled(std::uint32_t first, std::uint32_t shown, std::uint32_t count, float wheel) {
  const float step = std::max(static_cast<float>(shown) * 0.125F, 1.0F);
  return static_cast<std::uint32_t>(
      std::clamp(static_cast<float>(first) - std::round(wheel * step), 0.0F, static_cast<float>(count - shown)));
}

}  // namespace

float height_above(const MatrixView& view) {
  return (view.is_alone ? kShapeHeight : kTitleHeight + kFormulaHeight + kShapeHeight + kAxesHeight) + view.ticks;
}

void make_room_for_labels(const Frame& frame, MatrixView& view, float most) {
  constexpr float kMaxTokens = 110.0F, kNumbers = 36.0F;
  const shell::FontSet& fonts = frame.ui.fonts();
  const auto widest = [&](const std::vector<std::string>& tokens) {
    const std::size_t step = std::max<std::size_t>(tokens.size() / 256, 1);
    float width = 0.0F;
    for (std::size_t i = 0; i < tokens.size(); i += step) width = std::max(width, text_width(fonts.small, tokens[i]));
    return width;
  };
  if (view.row_tokens) view.gutter = std::clamp(std::ceil(widest(*view.row_tokens)) + kNumbers, 52.0F, kMaxTokens);
  if (!view.column_tokens) return;
  view.ticks = std::clamp(std::ceil(widest(*view.column_tokens) * kSlant) + font_size(fonts.small) + kLabelAir, 24.0F, most);
  view.overhang = view.ticks - font_size(fonts.small);
}

chart::Rect MatrixView::cells() const {
  return {.origin = origin + glm::vec2(gutter, height_above(*this)), .size = plan.size()};
}

TileQuery MatrixView::query(const Frame& frame) const {
  const QuantityId id = plan.stage.stage();
  TileQuery query = tile_of(frame, id, window());
  if (shows_difference_of(frame, id)) query.quantity = difference_of(id);
  return query;
}

chart::Region MatrixView::window() const {
  return {.row = plan.first_row, .rows = plan.shown_rows, .column = plan.first_column, .columns = plan.shown_columns};
}

glm::vec2 measure_matrix(const Frame& frame, const MatrixView& view) {
  const shell::FontSet& fonts = frame.ui.fonts();
  const bool has_title = !view.is_alone;
  const float title = has_title ? measure_math(fonts, fonts.strong, step_symbol(view.plan.stage)).x + 7.0F +
                                      text_width(fonts.body, view.title)
                                : 0.0F;
  const float formula = has_title ? measure_math(fonts, fonts.body, view.formula).x : 0.0F;
  const float shape = measure_math(fonts, fonts.small, view.shape).x;
  const float remark = text_width(fonts.small, view.remark);
  const float axes = measure_math(fonts, fonts.small, view.row_axis + " ↓" + view.column_axis + " →").x + 12.0F +
                     (has_title ? 0.0F : shape + kAxesGap);
  const chart::Rect cells = view.cells();
  const float cells_width = cells.size.x + std::max(scrolls_rows(view.plan) ? kScrollRoom : 0.0F, view.overhang);
  return {view.gutter + std::max({cells_width, title, formula, shape, axes, remark, kMinBar}),
          cells.origin.y - view.origin.y + cells.size.y + below(view.plan) + (view.remark.empty() ? 0.0F : kRemarkHeight)};
}

std::optional<attention::Cell> matrix_cell_at(const MatrixView& view, glm::vec2 point) {
  const chart::Rect cells = view.cells();
  if (!cells.contains(point)) return std::nullopt;
  const glm::uvec2 cell((point - cells.origin) / view.plan.cell);
  return attention::Cell{.query = view.plan.first_row + std::min(cell.y, view.plan.shown_rows - 1),
                         .key = view.plan.first_column + std::min(cell.x, view.plan.shown_columns - 1)};
}

void draw_matrix(Frame& frame, const MatrixView& view, const MatrixMarks& marks, StepValues& values,
                 const HeadSubject& subject) {
  const chart::Rect cells = view.cells();
  frame.mark(fmt::format("steps.{}", step_name(view.plan.stage)), cells);
  // The tile is requested in any case; what is scrolled out of the view is not drawn.
  const float bottom = cells.end().y + below(view.plan);
  if (!ImGui::IsRectVisible(view.origin, {cells.end().x, bottom})) {
    if (view.plan.stage.is_stage()) frame.ask(view.query(frame));
    return;
  }
  draw_caption(frame, view);
  const StepMatrix matrix = view.plan.stage;
  if (!matrix.is_stage() || !frame.transient.aim.hides(matrix.stage())) draw_cells(frame, view, values, subject);
  draw_row_labels(frame, view);
  draw_column_labels(frame, view);
  draw_heads(frame, view);
  draw_marks(frame, view, marks);
}

bool handle_matrix_scroll(Frame& frame, const MatrixView& view, MatrixScroll& scroll, bool takes_wheel) {
  const MatrixPlan& plan = view.plan;
  const chart::Rect cells = view.cells();
  const std::string name = fmt::format("steps.{}", step_name(plan.stage));
  if (scrolls_rows(plan)) {
    const chart::Rect track{.origin = {cells.end().x + 3.0F, cells.origin.y}, .size = {kScrollWidth, cells.size.y}};
    const auto moved = draw_scroll_bar(frame, name + ".rows", track, true, plan.first_row, plan.shown_rows, plan.rows);
    if (moved) scroll.row = moved;
  }
  if (scrolls_columns(plan)) {
    const chart::Rect track{.origin = {cells.origin.x, cells.end().y + 3.0F}, .size = {cells.size.x, kScrollWidth}};
    const auto moved =
        draw_scroll_bar(frame, name + ".columns", track, false, plan.first_column, plan.shown_columns, plan.columns);
    if (moved) scroll.column = moved;
  }
  const ImGuiIO& io = ImGui::GetIO();
  if (!takes_wheel || !plan.is_shortened() || !ImGui::IsWindowHovered() || !cells.contains(to_glm(io.MousePos)))
    return false;
  // ImGui 1.86 and later turn the wheel sideways themselves while Shift is held.
  const float wheel = io.MouseWheel != 0.0F ? io.MouseWheel : io.MouseWheelH;
  if (wheel == 0.0F) return true;
  const bool goes_sideways = !scrolls_rows(plan) || ((io.KeyShift || io.MouseWheelH != 0.0F) && scrolls_columns(plan));
  if (goes_sideways) {
    scroll.column = wheeled(plan.first_column, plan.shown_columns, plan.columns, wheel);
  } else {
    scroll.row = wheeled(plan.first_row, plan.shown_rows, plan.rows, wheel);
  }
  return true;
}

}  // namespace headlight::app
