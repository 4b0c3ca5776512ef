#pragma once

#include "app/shapes/table_layout.h"
#include "export/figure.h"

namespace headlight::app {

/// A table as a figure for a paper.
struct TableFigure {
  std::string title, subtitle;
  Table table = {};
  TableRows rows = {};
  TableOrder order = {};
  exporting::FigureStyle style = {};
  std::string session = {};
};

std::string in_words(const TableFigure& figure);

/// Throws Error where there is no row, or too many.
std::unique_ptr<exporting::Drawing> make_drawing(TableFigure figure);

}  // namespace headlight::app
