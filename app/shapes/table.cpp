#include "app/shapes/table.h"

#include <cmath>
#include <numeric>

#include <fmt/ranges.h>

#include "chart/number_format.h"
#include "export/csv.h"
#include "export/figure_text.h"

namespace headlight::app {
namespace {

constexpr std::size_t kMostDescribed = 100;

/// Which columns are written, and how.
struct Writing {
  bool Column::*is_written;
  std::string (*text)(std::string_view);
  std::string (*number)(double);
};
constexpr Writing kCsv = {&Column::is_copied, &exporting::csv_field, &exporting::table_number};
constexpr Writing kWords = {&Column::is_shown, [](std::string_view text) { return std::string(text); },
                            [](double value) { return fmt::format("{:.4g}", value); }};

/// A row, or the names.
std::vector<std::string> fields_of(const Table& table, std::optional<std::size_t> row, const Writing& write) {
  constexpr std::array kParts = {"", " baseline", " change"};
  std::vector<std::string> fields;
  for (const Column& column : table.columns) {
    const std::size_t parts = !(column.*write.is_written) ? 0 : column.is_compared() ? kParts.size() : 1;
    for (std::size_t part = 0; part < parts; ++part) {
      std::string& field = fields.emplace_back();
      if (!row || !column.has_numbers()) {
        field = write.text(row ? column.text(*row) : column.file_name() + kParts[part]);
        continue;
      }
      const CellNumber number = part == 0   ? column.number(*row)
                                : part == 1 ? column.baseline[*row]
                                            : column.shown_number(*row);
      if (number) field = write.number(*number);
    }
  }
  return fields;
}

}  // namespace

CellNumber Column::shown_number(std::size_t row) const {
  const CellNumber now = number(row);
  if (!is_compared()) return now;
  return now && baseline[row] ? CellNumber(*now - *baseline[row]) : std::nullopt;
}

std::pair<double, double> Column::ends() const {
  if (!is_compared() && bar == BarKind::Share) return {0.0, 1.0};
  double low = 0.0, high = 0.0;
  for (std::size_t row = 0; row < std::get<0>(cells).size(); ++row) {
    const double number = shown_number(row).value_or(0.0);
    if (!std::isfinite(number)) continue;
    low = std::min(low, number);
    high = std::max(high, number);
  }
  if (is_wide) return {low, std::max(high, low + least_end)};
  const double most = std::max({high, -low, least_end});
  return {has_signs() ? -most : 0.0, most};
}

std::string Column::written(CellNumber number, bool has_sign) const {
  if (!number || !std::isfinite(*number)) return "\u2013";
  if (!decimals) return chart::format_number(static_cast<float>(*number), 6);
  const std::string size = fmt::format("{:.{}f}", std::abs(*number), *decimals);
  if (size.find_first_of("123456789") == std::string::npos) return size;  // never "-0.00"
  return (*number < 0.0 ? "\u2212" : has_sign ? "+" : "") + size;
}

std::string Column::text(std::size_t row) const {
  return has_numbers() ? written(shown_number(row), has_signs()) : std::get<1>(cells)[row];
}

void Table::put_into(Column& column, std::string_view text) {
  if (column.has_numbers() && rows == 0) column.cells.emplace<1>();
  std::get<1>(column.cells).emplace_back(text);
  end_field();
}

void Table::put_into(Column& column, CellNumber number, CellNumber before) {
  if (before) column.baseline.resize(rows);
  if (before || column.is_compared()) column.baseline.push_back(before);
  std::get<0>(column.cells).push_back(number);
  end_field();
}

void Table::end_field() {
  filled = (filled + 1) % columns.size();
  if (filled == 0) ++rows;
}

Table named_columns(std::vector<std::string> names) {
  Table table;
  for (std::string& name : names) table.columns.push_back({.title = std::move(name)});
  return table;
}

void Table::add_subjects() {
  const auto add_hidden = [&](const char* name, const auto& of) {
    add({.title = name, .decimals = 0, .is_shown = false}, [&](std::size_t row) { return of(subjects[row]); });
  };
  add_hidden("kind", [](const RowSubject& of) { return std::string(model::to_string(of.block.kind)); });
  add_hidden("layer", [](const RowSubject& of) { return of.block.layer.value; });
  add_hidden("head", [](const RowSubject& of) { return of.head; });
}

const Column* Table::find(std::string_view id) const {
  const auto found = std::ranges::find(columns, id, &Column::key);
  return found == columns.end() ? nullptr : &*found;
}

std::optional<NumberRef> Table::origin(const Column& column, std::size_t row) const {
  if (!column.origin || !column.number(row)) return std::nullopt;
  NumberRef number = *column.origin;
  number.value = column.number(row);
  if (subjects.empty()) return number;
  number.block = subjects[row].block;
  number.head = subjects[row].head;
  return number;
}

TableRows all_rows(const Table& table) {
  TableRows rows(table.rows);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

TableRows sorted(const Table& table, TableRows rows, const TableOrder& order) {
  const Column* by = table.find(order.column);
  if (by == nullptr || !by->has_numbers()) {
    if (order.lowest_first) std::ranges::reverse(rows);
    return rows;
  }
  std::ranges::stable_sort(rows, {}, [&](std::size_t row) {
    const CellNumber number = by->shown_number(row);
    if (!number || std::isnan(*number)) return std::numeric_limits<double>::infinity();
    return (order.lowest_first ? 1.0 : -1.0) * (by->is_compared() ? std::abs(*number) : *number);
  });
  return rows;
}

std::string csv(const Table& table, std::span<const std::size_t> rows) {
  const auto line = [&](std::optional<std::size_t> row) {
    return fmt::format("{}\n", fmt::join(fields_of(table, row, kCsv), ","));
  };
  std::string text = line({});
  for (const std::size_t row : rows) text += line(row);
  return text;
}

std::string in_words(const Table& table, std::span<const std::size_t> rows) {
  std::string text = exporting::table_head(fields_of(table, {}, kWords));
  for (const std::size_t row : rows.first(std::min(rows.size(), kMostDescribed)))
    text += exporting::table_line(fields_of(table, row, kWords));
  return text + fmt::format("\n{} rows in all\n", rows.size());
}

}  // namespace headlight::app
