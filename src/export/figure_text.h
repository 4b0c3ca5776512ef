#pragma once

#include "export/figures.h"

namespace headlight::exporting {

/// Returns as Markdown the part of a figure that isn't text in it: numbers of cells, lines and edges, with the tokens
/// that they belong to; a table where there are few of them, else the largest.
std::string in_words(const HeatmapFigure& figure);
std::string in_words(const ContactSheet& sheet);
std::string in_words(const PanelsFigure& figure);
std::string in_words(const LinesFigure& figure);
std::string in_words(const FlowFigure& figure);
std::string in_words(const DotsFigure& figure);

/// A line of a Markdown table, and its first two lines.
std::string table_line(const std::vector<std::string>& cells);
std::string table_head(const std::vector<std::string>& names);

/// The texts of a drawing in the order of reading, those at one height on a line with tabs between them.
std::string drawn_words(const Drawing& drawing);

}  // namespace headlight::exporting
