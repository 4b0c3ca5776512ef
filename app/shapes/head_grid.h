#pragma once

#include "app/shapes/table.h"
#include "export/figures.h"

namespace headlight::app {

/// A table of heads as maps: for each shown column with a number of the listed heads one with a row for each of their
/// layers, on a page with title, settings, style and session. What isn't defined is hatched, changes have colours of
/// differences.
exporting::PanelsFigure head_grid(const Table& table, std::span<const std::size_t> rows, exporting::PanelsFigure page);

}  // namespace headlight::app
