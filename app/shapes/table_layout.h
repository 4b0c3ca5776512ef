#pragma once

// The places of a table's texts and bars: one layout for the window and for paper, which draws nothing and asks no font
// itself.

#include <functional>

#include "app/shapes/table.h"
#include "chart/viewport.h"

namespace headlight::app {

enum class TableFont : std::uint8_t { Body, Strong, Mono, Small };
enum class TableInk : std::uint8_t { Text, Dim, Accent, Bar, Less, More, Line, Chosen, Hovered };
inline constexpr std::size_t kTableInks = 9;

/// A filled rectangle, or a text in the middle of the rectangle's height, from its left edge.
struct TableItem {
  chart::Rect rect;
  TableInk ink = TableInk::Text;
  std::optional<std::string> text = {};
  TableFont font = TableFont::Body;
};

/// The parameters of a layout beside the table.
struct TableLook {
  std::function<float(TableFont, std::string_view)> width;
  float room = 0.0F;                   ///< what is left of it is shared out by the columns of numbers
  float gutter = 0.0F;                 ///< before the first column: the caller's
  float line = 24.0F, second = 16.0F;  ///< heights of a row's line, and of what both runs had below a change
  float least = 48.0F, most = 150.0F;  ///< widths of a column of numbers; a title is whole in any case
  float height = 0.0F;                 ///< rows become up to half as high again to fill it; 0: they stay
  std::size_t rows = 0;                ///< that share the height
};

class TableLayout {
 public:
  /// The table must outlive it.
  TableLayout(const Table& table, TableLook look);

  float width() const { return edges_.back(); }
  float row_height() const { return look_.line + (compares_ ? look_.second : 0.0F); }
  float header_height() const { return look_.line + 2.0F; }
  std::size_t count() const { return columns_.size(); }
  const Column& column(std::size_t i) const { return *columns_[i].first; }
  chart::Rect title(std::size_t i) const { return {{edges_[i], 0.0F}, {edges_[i + 1] - edges_[i], header_height()}}; }
  /// Null: of no column.
  const Column* column_at(float x) const;

  /// Returns where the table ends in a region that shows it up to `x`: a column of numbers is drawn whole or not at all.
  float end_in(float x) const;

  std::vector<TableItem> header(const TableOrder& order) const;
  /// Lays out one row, from its upper left corner on.
  std::vector<TableItem> row(std::size_t row, bool is_chosen = false, bool is_hovered = false) const;

 private:
  float most_of(const Column& column) const { return column.is_wide ? look_.room : look_.most; }
  /// From x to the column's end.
  void write(std::vector<TableItem>& items, std::size_t i, float x, glm::vec2 y_and_height, const std::string& text,
             TableFont font, TableInk ink) const;
  void put_number(std::vector<TableItem>& items, std::size_t i, std::size_t row) const;

  TableLook look_;
  bool compares_ = false;
  float share_ = 0.0F;  ///< width of the narrowest column of shares: in all of them bars have one scale
  std::vector<std::pair<const Column*, std::pair<double, double>>> columns_;  ///< shown ones, with the ends of their bars
  std::vector<float> slots_;                                                  ///< [column] the widest number or text
  std::vector<float> edges_;                                                  ///< [column] left; then the last one's right
};

}  // namespace headlight::app
