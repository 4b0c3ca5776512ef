#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/exports/line_set.h"
#include "export/lines_figure.h"

namespace headlight::app {

/// Weights as lines, and what they are of.
struct ShownLines {
  std::string title;
  std::string settings = {};  ///< in front of what is shown; may be empty
  std::string query_title = "query", key_title = "key";
  std::vector<std::string> queries = {}, keys = {};  ///< tokens; lines and `token` are their indices
  LineSet set = {};
  std::vector<std::uint32_t> heads = {};  ///< that are drawn
  float threshold = 0.0F;
  bool is_difference = false;             ///< of two runs: signed changes
  std::optional<LockedToken> token = {};  ///< of which alone there are lines
  exporting::FigureStyle style = {};
  std::string session = {};
};

/// The figure of the view Lines and of exports; its subtitle says which weights have lines.
exporting::LinesFigure lines_figure(ShownLines shown);

}  // namespace headlight::app
