#include "app/views/notebook/notebook_parts.h"
#include "app/widgets/controls.h"
#include "chart/color.h"

namespace headlight::app {
namespace {

using inference::NotebookNumbers;
using inference::NotebookPart;
using inference::PrintedNumber;

constexpr float kRowHeight = 19.0F, kColumnGap = 12.0F, kBlockGap = 22.0F;
constexpr std::size_t kMaxColumns = 16, kMaxRows = 48;
constexpr const char* kEqual = "\u2713";
constexpr const char* kOurs = "this pass";

const char* axis_name(char letter) {
  switch (letter) {
    case 'b':
      return "batch";
    case 't':
      return "token";
    case 'h':
      return "head";
    case 'd':
      return "number";
    case 'q':
      return "query";
    case 'k':
      return "key";
    case 'c':
      return "number";
    case 'i':
      return "input";
    default:
      return "";
  }
}

/// Three columns for each number of a row: printed, ours, difference.
class NumberTablePainter {
 public:
  NumberTablePainter(Frame& frame, const NumberTable& table)
      : frame_(frame), table_(table), theme_(frame.ui.theme()), font_(frame.ui.fonts().mono) {
    row_ = std::max<std::size_t>(table.ours.row, 1);
    rows_ = table.ours.values.size() / row_;
    shown_columns_ = std::min(row_, kMaxColumns);
    shown_rows_ = std::min(rows_, kMaxRows);
    has_printed_ = !table.part.printed.empty();
    measure();
  }

  NumberTableEvents draw() {
    const glm::vec2 start = cursor_position();
    const float side_by_side =
        label_ + block_width(printed_) + kBlockGap + block_width(ours_) + kBlockGap + block_width(difference_);
    is_wide_ = has_printed_ && side_by_side <= width_left();
    at_ = start;
    draw_titles();
    const shell::ControlGroup group(frame_.ui.keyboard(), table_.name.c_str());
    for (std::size_t row = 0; row < shown_rows_; ++row) draw_row(row);
    if (shown_rows_ < rows_ || shown_columns_ < row_) {
      put_text(frame_.ui.fonts().small, {start.x + label_, at_.y + 2.0F}, theme_.text_dim,
               fmt::format("the first {} \u00D7 {} of {} \u00D7 {}", shown_rows_, shown_columns_, rows_, row_));
      at_.y += kRowHeight;
    }
    ImGui::SetCursorScreenPos(to_imgui(start));
    ImGui::Dummy(to_imgui(glm::vec2(width(), at_.y - start.y)));
    events_.width = width();
    return events_;
  }

 private:
  void measure() {
    for (std::size_t row = 0; row < shown_rows_; ++row) {
      label_ = std::max(label_, text_width(font_, row_name(row)));
      for (std::size_t column = 0; column < shown_columns_; ++column) {
        const std::size_t number = row * row_ + column;
        ours_ = std::max(ours_, text_width(font_, our_text(table_.part, table_.ours, number)));
        const PrintedNumber* printed = printed_at(table_.part, number);
        if (printed == nullptr) continue;
        printed_ = std::max(printed_, text_width(font_, printed->text));
        if (table_.is_own) difference_ = std::max(difference_, text_width(font_, off_text(*printed, value(number))));
        are_equal_ = are_equal_ && printed->is_equal(value(number));
      }
    }
    for (std::size_t column = 0; column < shown_columns_ && column < table_.ours.columns.size(); ++column)
      ours_ = std::max(ours_, text_width(frame_.ui.fonts().small, table_.ours.columns[column]));
    difference_ = std::max(difference_, text_width(font_, kEqual));
    ours_ = std::max(ours_, text_width(frame_.ui.fonts().small, kOurs) / static_cast<float>(shown_columns_));
    if (label_ > 0.0F) label_ = std::ceil(label_) + 14.0F;
  }

  /// A single row or number needs no name.
  std::string row_name(std::size_t row) const {
    const bool is_named = rows_ > 1 || !table_.part.rows.empty() || table_.ours.shape.size() > 1;
    return is_named && row < table_.ours.rows.size() ? table_.ours.rows[row] : std::string();
  }

  double value(std::size_t number) const { return table_.ours.values[number]; }
  float block_width(float column) const { return static_cast<float>(shown_columns_) * (std::ceil(column) + kColumnGap); }
  float width() const {
    if (!has_printed_) return label_ + block_width(ours_);
    return is_wide_ ? label_ + block_width(printed_) + block_width(ours_) + block_width(difference_) + 2.0F * kBlockGap
                    : label_ + stacked_label() + block_width(std::max(printed_, ours_));
  }
  float stacked_label() const { return text_width(frame_.ui.fonts().small, "difference") + 12.0F; }

  static std::string off_text(const PrintedNumber& printed, double ours) {
    if (printed.is_equal(ours)) return kEqual;
    const double off = printed.digits_off(ours);
    return std::isfinite(off) && off < 1e6 ? fmt::format("{:.0f}", off) : ">10\u2076";
  }

  void draw_titles() {
    ImFont* small = frame_.ui.fonts().small;
    if (is_wide_) {
      float x = at_.x + label_;
      const auto title = [&](const std::string& text, float block, shell::Color color) {
        put_text(small, {x + block - kColumnGap - text_width(small, text), at_.y}, color, text);
        x += block + kBlockGap;
      };
      const bool is_narrow = text_width(small, "printed in the notebook") + kColumnGap > block_width(printed_);
      title(is_narrow ? "printed" : "printed in the notebook", block_width(printed_), theme_.text_dim);
      title(kOurs, block_width(ours_), theme_.text_dim);
      const std::string last = are_equal_ ? "equal" : block_width(difference_) > 150.0F ? "difference, last digit" : "off";
      title(table_.is_own ? last : "", block_width(difference_), theme_.text_dim);
      at_.y += kRowHeight;
      return;
    }
    const float column = std::ceil(has_printed_ ? std::max(printed_, ours_) : ours_);
    float x = at_.x + label_ + (has_printed_ ? stacked_label() : 0.0F);
    bool has_names = false;
    const std::size_t names = table_.ours.values.size() == 1 ? 0 : std::min(shown_columns_, table_.ours.columns.size());
    for (std::size_t i = 0; i < names; ++i, x += column + kColumnGap) {
      const std::string& name = table_.ours.columns[i];
      has_names = has_names || !name.empty();
      put_text(small, {x + column - text_width(small, name), at_.y}, theme_.text_dim, name);
    }
    if (has_names) at_.y += kRowHeight;
  }

  void draw_row(std::size_t row) {
    const std::string label = row_name(row);
    const float lines = !has_printed_ || is_wide_ ? 1.0F : 3.0F;
    const float height = lines * kRowHeight + (lines > 1.0F ? 4.0F : 0.0F);
    if (row % 2 == 1) {
      fill_rect({.origin = {at_.x - 4.0F, at_.y}, .size = {width() + 4.0F, height}}, shell::with_alpha(theme_.hover, 90),
                3.0F);
    }
    put_text(font_, {at_.x, at_.y + text_drop(font_, kRowHeight)}, theme_.text_dim, label);
    if (lines > 1.0F) {
      for (int line = 0; line < 3; ++line) {
        const char* name = line == 0 ? "printed" : line == 1 ? kOurs : table_.is_own ? "difference" : "";
        ImFont* small = frame_.ui.fonts().small;
        put_text(small, {at_.x + label_, at_.y + static_cast<float>(line) * kRowHeight + text_drop(small, kRowHeight)},
                 theme_.text_dim, name);
      }
    }
    for (std::size_t column = 0; column < shown_columns_; ++column) draw_number(row, column, height);
    at_.y += height;
  }

  void draw_number(std::size_t row, std::size_t column, float height) {
    const std::size_t number = row * row_ + column;
    const PrintedNumber* printed = printed_at(table_.part, number);
    const std::string ours = our_text(table_.part, table_.ours, number);
    const auto i = static_cast<float>(column);
    const float drop = text_drop(font_, kRowHeight);
    chart::Rect place;
    if (is_wide_) {
      const float first = at_.x + label_, second = first + block_width(printed_) + kBlockGap,
                  third = second + block_width(ours_) + kBlockGap;
      const auto right = [&](float block, float width) { return block + i * (width + kColumnGap) + width; };
      if (printed != nullptr) put_printed(*printed, right(first, std::ceil(printed_)), at_.y + drop);
      const float end = right(second, std::ceil(ours_));
      put_ours(ours, printed, number, end, at_.y + drop);
      if (printed != nullptr) put_off(*printed, number, right(third, std::ceil(difference_)), at_.y + drop);
      place = {.origin = {end - std::ceil(ours_), at_.y}, .size = {std::ceil(ours_), height}};
    } else {
      const float width = std::ceil(has_printed_ ? std::max(printed_, ours_) : ours_);
      const float end = at_.x + label_ + (has_printed_ ? stacked_label() : 0.0F) + i * (width + kColumnGap) + width;
      float y = at_.y + drop;
      if (printed != nullptr) put_printed(*printed, end, y);
      if (has_printed_) y += kRowHeight;
      put_ours(ours, printed, number, end, y);
      if (printed != nullptr) put_off(*printed, number, end, y + kRowHeight);
      place = {.origin = {end - width, at_.y}, .size = {width, height}};
    }
    ImGui::SetCursorScreenPos(to_imgui(place.origin));
    const std::string name = fmt::format("{}.{}", table_.name, number);
    if (click_area(name.c_str(), to_imgui(place.size))) events_.clicked = number;
    if (ImGui::IsItemHovered()) events_.hovered = number;
    frame_.mark(name, place);
    if (table_.chosen == number)
      outline_rect(place.origin - glm::vec2(3.0F, 0.0F), place.end() + glm::vec2(3.0F, 0.0F), theme_.accent, 3.0F);
  }

  void put_printed(const PrintedNumber& printed, float end, float y) const {
    const shell::Color color = table_.is_own ? theme_.text : theme_.text_dim;
    put_text(font_, {end - text_width(font_, printed.text), y}, color, printed.text);
  }

  /// Ours; from the first digit on that differs from the printed ones in the colour of problems.
  void put_ours(const std::string& ours, const PrintedNumber* printed, std::size_t number, float end, float y) const {
    const float x = end - text_width(font_, ours);
    const bool differs = printed != nullptr && table_.is_own && !printed->is_equal(value(number));
    std::size_t same = 0;
    while (differs && same < ours.size() && same < printed->text.size() && ours[same] == printed->text[same]) ++same;
    if (!differs) return put_text(font_, {x, y}, theme_.text, ours);
    put_text(font_, {x, y}, theme_.text, ours.substr(0, same));
    put_text(font_, {x + text_width(font_, ours.substr(0, same)), y}, theme_.warning, ours.substr(same));
  }

  void put_off(const PrintedNumber& printed, std::size_t number, float end, float y) const {
    if (!table_.is_own) return;
    const std::string text = off_text(printed, value(number));
    const bool is_equal = printed.is_equal(value(number));
    put_text(font_, {end - text_width(font_, text), y}, is_equal ? theme_.value : theme_.warning, text);
  }

  Frame& frame_;
  const NumberTable& table_;
  const shell::Theme& theme_;
  ImFont* font_;
  std::size_t row_ = 1, rows_ = 0, shown_columns_ = 0, shown_rows_ = 0;
  bool has_printed_ = false, is_wide_ = false, are_equal_ = true;
  float label_ = 0.0F, printed_ = 0.0F, ours_ = 0.0F, difference_ = 0.0F;
  glm::vec2 at_{0.0F};
  NumberTableEvents events_;
};

}  // namespace

NumberTableEvents draw_numbers(Frame& frame, const NumberTable& table) { return NumberTablePainter(frame, table).draw(); }

const PrintedNumber* printed_at(const NotebookPart& part, std::size_t number) {
  return number < part.printed.size() ? &part.printed[number] : nullptr;
}

std::string our_text(const NotebookPart& part, const NotebookNumbers& ours, std::size_t number) {
  const PrintedNumber* printed = printed_at(part, number);
  const PrintedNumber* like = printed != nullptr ? printed : part.printed.empty() ? nullptr : &part.printed.front();
  return like != nullptr ? like->beside(ours.values[number]) : inference::number_text(ours.values[number]);
}

PrintedCount count_equal(const inference::NotebookCell& cell, const NotebookFound::Cell& found) {
  PrintedCount count;
  for (std::size_t i = 0; i < cell.parts.size(); ++i) {
    const NotebookPart& part = cell.parts[i];
    count.printed += part.printed.size();
    if (i >= found.parts.size()) continue;
    const std::vector<double>& values = found.parts[i].values;
    for (std::size_t number = 0; number < std::min(part.printed.size(), values.size()); ++number)
      count.equal += part.printed[number].is_equal(values[number]) ? 1U : 0U;
  }
  return count;
}

std::string place_in_words(const NotebookNumbers& ours, std::size_t number) {
  std::string words;
  const std::map<char, std::uint32_t> place = ours.place(number);
  for (const char letter : std::string_view("bhtqkdci")) {
    if (place.contains(letter))
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", axis_name(letter), place.at(letter));
  }
  return words;
}

std::string axes_in_words(const NotebookPart& part, const NotebookNumbers& ours) {
  if (part.is_size || ours.order.empty()) return {};
  std::string words;
  for (std::size_t axis = 0; axis < ours.shape.size(); ++axis)
    words += fmt::format("{}{}", axis == 0 ? "" : " \u00D7 ", ours.shape[axis]);
  std::string names;
  for (const auto& [letter, indices] : ours.order) {
    const std::string name = axis_name(letter);
    if (!name.empty()) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  return names.empty() ? words : fmt::format("{}: {}", words, names);
}

Table cells_table(std::span<const inference::NotebookCell* const> cells, const NotebookFound& found) {
  Table table = named_columns({"cell", "title", "tensor", "place", "printed", "ours", "units off"});
  for (const inference::NotebookCell* cell : cells) {
    const NotebookFound::Cell* known = found.find(cell->id);
    for (std::size_t i = 0; known != nullptr && i < known->parts.size(); ++i) {
      const NotebookPart& part = cell->parts[i];
      for (std::size_t number = 0; number < known->parts[i].values.size(); ++number) {
        const PrintedNumber* printed = printed_at(part, number);
        const double ours = known->parts[i].values[number];
        table.put(cell->id, cell->title, part.name, part.is_size ? "" : place_in_words(known->parts[i], number),
                  printed != nullptr ? printed->text : "", fmt::format("{:.9g}", ours),
                  printed != nullptr ? fmt::format("{:.0f}", printed->digits_off(ours)) : "");
      }
    }
  }
  return table;
}

Grid grid_of(const NotebookPart& part, const NotebookNumbers& ours) {
  Grid grid{.title = part.name};
  grid.rows.title = "row";
  grid.columns.title = "column";
  grid.rows.tokens = ours.rows;
  grid.columns.tokens = ours.columns;
  const bool is_positive = std::ranges::all_of(ours.values, [](double value) { return !(value < 0.0); });
  grid.is_signed = !is_positive;
  grid.hides_missing = true;
  for (std::size_t row = 0; row < ours.rows.size(); ++row) {
    auto& cells = grid.cells.emplace_back();
    for (std::size_t column = 0; column < ours.row; ++column) {
      const double value = ours.values[row * ours.row + column];
      const bool is_fill = !std::isfinite(value) || value < -1e8;  // of masked scores: no colour tells others apart
      cells.push_back(is_fill ? std::nullopt : std::optional(value));
    }
  }
  return grid;
}

}  // namespace headlight::app
