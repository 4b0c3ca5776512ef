#pragma once

// A table as a value: typed columns over rows. What is sorted, compared, copied, described and drawn follows from it.

#include <algorithm>
#include <span>
#include <variant>
#include <vector>

#include "app/shapes/quantities/compared.h"
#include "app/state/transient.h"
#include "evaluation/head_layout.h"

namespace headlight::app {

using CellNumber = std::optional<double>;    ///< none: it isn't known, or not defined
using RowSubject = evaluation::HeadRef;      ///< what a row is of
using TableRows = std::vector<std::size_t>;  ///< indices, in the order in which rows are listed

/// The scale of a number's bar: no bar, its share of 1 or of the largest one, or the latter from 0 in the middle. Changes
/// have the last in any case.
enum class BarKind : std::uint8_t { None, Share, Size, Signed };

struct Column {
  std::string title;                    ///< on screen
  std::string name = {};                ///< in files; empty: the title
  std::string id = {};                  ///< what an order and marks call it; empty: its name in files
  std::string unit = {}, formula = {};  ///< "nats"; what the number is, in a sentence: the title's tooltip
  BarKind bar = BarKind::None;
  std::optional<int> decimals = 2;  ///< on screen; none: as many as fit into six characters
  double least_end = 1e-9;          ///< bars are measured by this number at least
  bool is_wide = false;  ///< takes what room is left; bars are as high as a line, before the numbers, and of one scale
  bool is_shown = true, is_copied = true;
  std::optional<NumberRef> origin = {};  ///< what is asked about a number, without subject and value; none: nothing is

  std::variant<std::vector<CellNumber>, std::vector<std::string>> cells = {};  ///< [row]
  std::vector<CellNumber> baseline = {};                                       ///< [row]; empty: nothing is compared
  std::vector<bool> is_quiet = {};  ///< [row] paler; empty: no number is, and all texts but the first column's are

  const std::string& file_name() const { return name.empty() ? title : name; }
  const std::string& key() const { return id.empty() ? file_name() : id; }
  bool has_numbers() const { return cells.index() == 0; }
  bool is_compared() const { return !baseline.empty(); }
  bool has_signs() const { return is_compared() || bar == BarKind::Signed; }
  CellNumber number(std::size_t row) const { return std::get<0>(cells)[row]; }
  /// Returns the number that is drawn and sorted by: the number, or now less baseline; none where either isn't known.
  CellNumber shown_number(std::size_t row) const;
  /// The numbers at both ends of where bars are.
  std::pair<double, double> ends() const;
  /// "0.98", with a sign "+0.12"; "–" for none.
  std::string written(CellNumber number, bool has_sign = false) const;
  std::string text(std::size_t row) const;
};

struct Table {
  std::vector<Column> columns = {};
  std::vector<RowSubject> subjects = {};  ///< [row]; empty: rows are no heads
  std::size_t rows = 0;
  std::size_t filled = 0;  ///< columns of the last row, which put() fills

  /// Adds a column of what `of` says of each row: a number, none, or a text.
  template <typename Of>
  Column& add(Column column, const Of& of) {
    using Cell = std::conditional_t<std::is_convertible_v<decltype(of(rows)), std::string>, std::string, CellNumber>;
    auto& cells = column.cells.emplace<std::vector<Cell>>();
    for (std::size_t row = 0; row < rows; ++row) cells.push_back(Cell(of(row)));
    return columns.emplace_back(std::move(column));
  }
  /// Adds texts, numbers, none and `Compared` numbers to the last row, column by column, and begins another one where it is
  /// full.
  template <typename... Fields>
  void put(const Fields&... fields) {
    (put_into(columns[filled], fields), ...);
  }
  /// Kind, layer and head of the subjects, for files.
  void add_subjects();
  bool is_compared() const { return std::ranges::any_of(columns, &Column::is_compared); }
  /// Null: there is none of this id.
  const Column* find(std::string_view id) const;
  /// Returns the question about a cell's origin; none where the number isn't known.
  std::optional<NumberRef> origin(const Column& column, std::size_t row) const;
  // These are parts of put().
  void put_into(Column& column, std::string_view text);
  void put_into(Column& column, CellNumber number, CellNumber before = {});
  void put_into(Column& column, const Compared<double>& number) { put_into(column, number.now, number.baseline); }
  void end_field();
};
/// One without rows.
Table named_columns(std::vector<std::string> names);

/// Names with numbers as bars.
template <typename Name, typename Of>
Table bar_table(std::size_t rows, const Name& name, const Of& of, bool has_signs = true, double least_end = 1e-9) {
  Table table{.rows = rows};
  table.add({.title = "name"}, name);
  table.add({.title = "number",
             .bar = has_signs ? BarKind::Signed : BarKind::Size,
             .decimals = 3,
             .least_end = least_end,
             .is_wide = true},
            of);
  return table;
}

/// How rows are ordered, by a column's id, so that a choice outlives a finding.
struct TableOrder {
  std::string column = {};  ///< empty, or one of texts: the rows' own order
  bool lowest_first = false;

  bool operator==(const TableOrder&) const = default;
};

TableRows all_rows(const Table& table);
/// The largest first, of columns with changes the largest one in either direction; rows without a number come last in both
/// orders, equal ones as they come.
TableRows sorted(const Table& table, TableRows rows, const TableOrder& order);

/// Lines of fields, the first of them the columns' names; of a compared column "x", "x baseline" and "x change". No number
/// is an empty field.
std::string csv(const Table& table, std::span<const std::size_t> rows);
inline std::string csv(const Table& table) { return csv(table, all_rows(table)); }
/// Returns the columns on screen as Markdown, of the first 100 rows.
std::string in_words(const Table& table, std::span<const std::size_t> rows);

}  // namespace headlight::app
