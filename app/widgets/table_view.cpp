#include "app/widgets/table_view.h"

#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/tile_numbers.h"
#include "chart/number_format.h"

namespace headlight::app {
namespace {

constexpr float kTitles = 40.0F;     // the most that titles take of a table's height
constexpr float kMostShare = 0.12F;  // of a wide table's width, for a column of numbers

/// Returns the part of a height that whole rows fill, of one at least: a cut one looks like the last.
float whole_rows(float height, float row) { return std::max(std::floor(height / row), 1.0F) * row; }

ImFont* font_of(const shell::FontSet& fonts, TableFont font) {
  return std::array{fonts.body, fonts.strong, fonts.mono, fonts.small}[static_cast<std::size_t>(font)];
}

void paint(const Frame& frame, glm::vec2 origin, const TableLayout& layout, const std::vector<TableItem>& items) {
  const shell::Theme& theme = frame.ui.theme();
  const auto sign = [&](std::size_t at) {
    return shell::mark_on(theme.panel, chart::table(chart::ColorMap::BlueRed)[at], theme.text);
  };
  const std::array<shell::Color, kTableInks> inks = {theme.text, theme.text_dim, theme.accent, theme.output, sign(40),
                                                     sign(215),  theme.border,   theme.active, theme.hover};
  // A table may be wider than its region: the part of a number at the region's side would be read as another number.
  const float right = origin.x + layout.end_in(ImGui::GetWindowDrawList()->GetClipRectMax().x - origin.x);
  for (const TableItem& item : items) {
    const chart::Rect box{.origin = origin + item.rect.origin, .size = item.rect.size};
    const shell::Color ink = inks[static_cast<std::size_t>(item.ink)];
    if (box.origin.x >= right) continue;
    if (!item.text) {
      fill_rect(box, ink, item.ink >= TableInk::Chosen ? 3.0F : 1.0F);
      continue;
    }
    ImFont* font = font_of(frame.ui.fonts(), item.font);
    const float room = right - box.origin.x;
    if (room < text_width(font, "…")) continue;
    frame.ui.ensure_glyphs(*item.text);
    put_text(font, {box.origin.x, std::round(box.center().y - font_size(font) * 0.5F)}, ink,
             fit_text(font, *item.text, room));
  }
}

}  // namespace

void TableView::show(Table table) {
  table_ = std::move(table);
  rows_ = listed_ = all_rows(table_);
  order_ = {};
  layout_.reset();
}

const TableRows& TableView::list(TableRows rows, const TableOrder& order) {
  if (rows_ != rows || order_ != order) listed_ = sorted(table_, rows, order);
  rows_ = std::move(rows);
  order_ = order;
  return listed_;
}

std::unique_ptr<exporting::Drawing> TableView::figure(TableFigure figure) const {
  if (listed_.empty()) return nullptr;
  figure.table = table_;
  figure.rows = listed_;
  figure.order = order_;
  return make_drawing(std::move(figure));
}

void TableView::lay_out(const Frame& frame, glm::vec2 room, float gutter) {
  if (layout_ && room == room_ && gutter == gutter_ && rows_in_room_ == listed_.size()) return;
  room_ = room;
  rows_in_room_ = listed_.size();
  gutter_ = gutter;
  const auto measure = [&fonts = frame.ui.fonts()](TableFont font, std::string_view text) {
    return text_width(font_of(fonts, font), std::string(text));
  };
  layout_.emplace(table_, TableLook{.width = measure,
                                    .room = room.x,
                                    .gutter = gutter,
                                    .most = std::max(TableLook().most, kMostShare * room.x),
                                    .height = room.y,
                                    .rows = listed_.size()});
}

TableEvents TableView::draw(Frame& frame, const TableParts& parts, TableOrder& order) {
  const float bar = ImGui::GetStyle().ScrollbarSize, room = width_left() - bar;
  lay_out(frame, {room, height_left() - kTitles}, parts.gutter);
  begin_bare_region("table", {},
                    ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav |
                        (layout_->width() > room ? ImGuiWindowFlags_HorizontalScrollbar : ImGuiWindowFlags_None));
  draw_titles(frame, order);
  begin_bare_region("rows", {layout_->width() + bar, whole_rows(height_left(), layout_->row_height())});
  reveal(parts.chosen);
  if (listed_.empty()) write_note(frame, parts.empty);
  const TableEvents events = draw_listed(frame, parts);
  ImGui::EndChild();
  ImGui::EndChild();
  return events;
}

void TableView::reveal(std::optional<std::size_t> chosen) {
  const auto at = std::ranges::find(listed_, chosen);
  if (at == listed_.end()) return revealed_.reset();
  const float row = layout_->row_height(), top = row * static_cast<float>(at - listed_.begin());
  const float scroll = ImGui::GetScrollY(), height = ImGui::GetWindowHeight();
  const bool is_other = std::exchange(revealed_, chosen) != chosen, is_resized = std::exchange(height_, height) != height;
  // The row stays out of view if the user scrolled away from it, but not if the region became lower.
  const bool must_be_seen = is_other || (is_resized && is_in_view_);
  if (must_be_seen) scroll_into_view(top, top + row);
  is_in_view_ = must_be_seen || (top >= scroll && top + row <= scroll + height);
}

void TableView::draw_titles(Frame& frame, TableOrder& order) const {
  const glm::vec2 start = cursor_position();
  const TableOrder shown = order;
  paint(frame, start, *layout_, layout_->header(shown));
  const shell::ControlGroup titles(frame.ui.keyboard(), "titles");
  for (std::size_t i = 0; i < layout_->count(); ++i) {
    const Column& column = layout_->column(i);
    if (column.formula.empty()) continue;  // nothing is ordered by it
    const chart::Rect box = layout_->title(i);
    const std::string mark = fmt::format("{}.order.{}", name_, column.key());
    const std::string key = column.has_numbers() ? column.key() : std::string();
    ImGui::SetCursorScreenPos(to_imgui(start + box.origin));
    if (click_area(mark.c_str(), to_imgui(box.size)))
      order = {.column = key, .lowest_first = shown.column == key && !shown.lowest_first};
    const char* compared = column.is_compared() ? "Orders by the change since the baseline, in either direction. " : "";
    mark_last_item(frame, mark, (compared + column.formula).c_str());
    if (shown.column == key) frame.ui.keyboard().prefer_last();
  }
  ImGui::SetCursorScreenPos(to_imgui(start));
  ImGui::Dummy({layout_->width(), layout_->header_height()});
}

TableEvents TableView::draw_listed(Frame& frame, const TableParts& parts, bool is_list) {
  shell::KeyboardFocus& keyboard = frame.ui.keyboard();
  const float height = layout_->row_height(), left = ImGui::GetCursorScreenPos().x;
  const shell::ControlGroup group(keyboard, name_.c_str());
  TableEvents events;
  draw_rows(listed_.size(), height, 1.0F, [&](std::size_t place, float y) {
    const std::size_t row = listed_[place];
    if (parts.fill) parts.fill(row);
    const std::string mark =
        is_list ? fmt::format("{}.{}", name_, place) : fmt::format("{}.row.{}", name_, layout_->column(0).text(row));
    ImGui::SetCursorScreenPos({left + gutter_, y});
    ImGui::PushID(static_cast<int>(row));
    const bool is_clicked = click_area(mark.c_str(), {layout_->width() - gutter_, height}) && !ImGui::GetIO().KeyCtrl;
    ImGui::PopID();
    const bool is_hovered = ImGui::IsItemHovered();
    const bool is_double = is_hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
    if (is_double || (is_clicked && parts.chosen == row && keyboard.is_active())) events.opened = row;
    if (is_clicked) events.clicked = revealed_ = row;  // it stays where it is, for a second click
    if (parts.about) {
      mark_last_item(frame, mark, parts.about(row).c_str());
    } else {
      frame.mark(mark, last_item_rect());
      keyboard.offer_last_item();
    }
    const bool is_chosen = events.clicked ? events.clicked == row : parts.chosen == row;
    if (is_chosen) keyboard.prefer_last();
    paint(frame, {left, y}, *layout_, layout_->row(row, is_chosen, is_hovered));
    if (parts.draw_gutter) parts.draw_gutter(row, {{left, y}, {gutter_, height}});
    if (!is_hovered) return;
    events.hovered = row;
    point_at(frame, row, pointer_position().x - left);
  });
  // The bar of rows that have just come is there in the next frame.
  const bool scrolls = static_cast<float>(listed_.size()) * height > ImGui::GetWindowHeight();
  const bool is_seen = ImGui::IsRectVisible(ImGui::GetWindowPos(), to_imgui(window_rect().end()));
  if (scrolls && is_seen && ImGui::GetScrollMaxY() == 0.0F) frame.ui.request_redraw(2);
  return events;
}

void TableView::point_at(Frame& frame, std::size_t row, float x) const {
  const Column* column = layout_->column_at(x);
  std::optional<NumberRef> asked = column && column->has_numbers() ? table_.origin(*column, row) : std::nullopt;
  if (!asked) return;
  if (column->is_compared()) add_baseline(*asked, {.now = *asked->value, .baseline = column->baseline[row]});
  frame.transient.pointed_number = std::move(asked);
}

TableEvents draw_bars(Frame& frame, std::string name, Table table, const TableParts& parts) {
  TableView view(std::move(name));
  view.show(std::move(table));
  ImGui::BeginChild(view.name_.c_str(), {0.0F, whole_rows(height_left(), TableLook().line)});
  view.lay_out(frame, region_left(), 0.0F);
  const TableEvents events = view.draw_listed(frame, parts, true);
  ImGui::EndChild();
  return events;
}

std::string signed_text(double value) {
  const std::string text = chart::format_fixed(static_cast<float>(value), 3);
  const bool is_nothing = text.find_first_of("123456789") == std::string::npos && std::isfinite(value);
  return value > 0.0 && !is_nothing ? "+" + text : text;
}

}  // namespace headlight::app
