#pragma once

#include "app/frame.h"
#include "app/shapes/table_figure.h"

namespace headlight::app {

/// Parts that are drawn beside a table.
struct TableParts {
  std::optional<std::size_t> chosen = {};  ///< the row that is drawn as selected, and scrolled to when it becomes that
  std::function<std::string(std::size_t row)> about = {};  ///< a row's tooltip; empty: it has none
  std::function<void(std::size_t row)> fill = {};          ///< is called for each row in view, to write asked_cells()
  const char* empty = "";                                  ///< in place of rows where none is listed
  float gutter = 0.0F;                                     ///< before the first column, where `draw_gutter` draws
  std::function<void(std::size_t row, const chart::Rect& box)> draw_gutter = {};
};

struct TableEvents {
  std::optional<std::size_t> hovered, clicked;
  std::optional<std::size_t> opened;  ///< clicked twice, or with the keyboard once it was chosen
};

/// A table on screen, with what is kept from frame to frame: the listed rows in their order, and the layout.
class TableView {
 public:
  /// Titles are marked "<name>.order.<column>", rows "<name>.row.<text of the first column>".
  explicit TableView(std::string name) : name_(std::move(name)) {}

  /// Takes another table, and lists all its rows.
  void show(Table table);
  const Table& table() const { return table_; }
  /// The columns, for cells of a row that become known when it comes into view: widths and order stay.
  std::vector<Column>& asked_cells() { return table_.columns; }
  /// Lists these rows in this order, which is found again where they, it or the table changed.
  const TableRows& list(TableRows rows, const TableOrder& order);
  const TableRows& listed() const { return listed_; }
  /// Returns the listed rows as a figure, with title and settings of `figure`; null: none are listed.
  std::unique_ptr<exporting::Drawing> figure(TableFigure figure) const;

  /// Draws the table into what is left of the region; Ctrl and a click ask where a number is from, and aren't reported as a
  /// click. A click on a title changes the order: the same column the other way round, else this column, the largest number
  /// first. The cell under the pointer is what is asked about.
  TableEvents draw(Frame& frame, const TableParts& parts, TableOrder& order);

 private:
  friend TableEvents draw_bars(Frame& frame, std::string name, Table table, const TableParts& parts);
  void lay_out(const Frame& frame, glm::vec2 room, float gutter);
  void reveal(std::optional<std::size_t> chosen);
  void draw_titles(Frame& frame, TableOrder& order) const;
  TableEvents draw_listed(Frame& frame, const TableParts& parts, bool is_list = false);
  void point_at(Frame& frame, std::size_t row, float x) const;

  std::string name_;
  Table table_;
  TableRows rows_, listed_;
  TableOrder order_;
  std::optional<TableLayout> layout_;
  glm::vec2 room_{0.0F};  ///< of the layout, as what follows
  std::size_t rows_in_room_ = 0;
  float gutter_ = 0.0F;
  std::optional<std::size_t> revealed_;  ///< the row that was chosen in the last frame, as what follows
  bool is_in_view_ = false;
  float height_ = 0.0F;  ///< of the rows' region
};

/// Draws a bar_table() into what is left of the region, in whole rows that scroll, marked "<name>.0", "<name>.1", …
TableEvents draw_bars(Frame& frame, std::string name, Table table, const TableParts& parts);

/// Returns "+1.234" or "−0.012": with its sign.
std::string signed_text(double value);

}  // namespace headlight::app
