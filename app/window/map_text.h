#pragma once

#include "app/commands/command_host.h"
#include "app/frame.h"

namespace headlight::app {

/// Numbers as text with tabs between columns.
struct MapText {
  bool is_pending = false;  ///< they aren't computed yet; they are asked for
  std::string table = {};   ///< empty: there is none, and `message` says why
  std::string message = {};
};

/// Returns the numbers of the shown map that are to be copied: exact values of its stage, of the tokens themselves.
MapText map_text(Frame& frame, CopiedNumbers what);

/// Returns "query\tthe\tcat\nthe\t1\t0\n": rows and columns named by their labels. `values` [rows, columns]. Tabs and
/// newlines in labels become spaces.
std::string to_table(std::span<const std::string> rows, std::span<const std::string> columns, std::span<const float> values);

}  // namespace headlight::app
