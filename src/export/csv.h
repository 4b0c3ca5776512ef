#pragma once

#include <functional>
#include <vector>

#include "core/file.h"

namespace headlight::exporting {

/// Receives the next bytes of a file that is written in parts.
using Sink = std::function<void(std::string_view)>;

/// append() of a file too large for the memory; the file must outlive it.
inline Sink sink_of(AtomicFile& file) {
  return [&file](std::string_view bytes) { file.append(bytes); };
}

/// Returns a number as every CSV has it: of a float32 the fewest digits that read back as the same one ("0.1", "-1e+09"), of
/// others nine; "-inf", "inf", "nan".
std::string table_number(double value);

/// A text as a field of RFC 4180 text: in quotes where it needs them. What a spreadsheet would compute (a text that begins
/// with =, +, -, @, a tab or a line's end, and is no number) gets an apostrophe in front, which makes it text there.
std::string csv_field(std::string_view text);
/// Returns the text as a field between tabs, for the clipboard, with the same apostrophe; tabs and line ends become
/// spaces.
std::string tab_field(std::string_view text);

/// Writes a matrix row by row into a sink, as CSV in UTF-8 whose lines end in "\n": the first one names the columns, the
/// first field of each its row.
class CsvWriter {
 public:
  /// `corner` is the first field, above the rows' names; `columns` the tokens (or "0", "1", … of features).
  CsvWriter(Sink sink, std::string_view corner, std::span<const std::string> columns);

  void append_row(std::string_view name, std::span<const float> values);

 private:
  Sink sink_;
  std::string line_;
};

/// The names of an axis without tokens: "0", "1", ….
std::vector<std::string> index_names(std::uint32_t count);

}  // namespace headlight::exporting
