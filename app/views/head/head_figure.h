#pragma once

#include "app/views/head/grouped_head.h"
#include "export/drawing.h"

namespace headlight::app {

/// The map of this view as a figure for a paper: all of it, however the view is zoomed, with the words, colours and ranges
/// that `headlight export` gives it. A map that is grouped by words or has its special tokens hidden is drawn so.
class HeadFigure {
 public:
  /// Notes what this frame shows. Asks for every cell of a map of tokens that a figure has room for.
  void keep(Frame& frame, const GroupedHead& grouped);
  /// Null: the cells aren't all known yet. Throws Error where the map is too large.
  std::unique_ptr<exporting::Drawing> draw() const;

 private:
  // Of the window, which outlives its views.
  const State* state_ = nullptr;
  const EngineResult* result_ = nullptr;
  std::shared_ptr<const attention::Tile> tile_;  ///< null while not known
  bool is_difference_ = false, is_too_large_ = false;
  std::string grouping_;                          ///< how the map is grouped, in words; empty: it isn't
  std::vector<std::string> row_names_, columns_;  ///< of a grouped map
};

}  // namespace headlight::app
