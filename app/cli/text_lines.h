#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/line_reader.h"

namespace headlight::app {

/// The texts that a command processes one by one: the given ones, line feeds and all, else the lines of standard input.
class TextLines {
 public:
  /// Opens the lines. `reads_input`: none were given, standard input is read.
  TextLines(const std::vector<std::string>& given, bool reads_input);

  /// Are they typed on a terminal?
  bool is_interactive() const { return is_interactive_; }
  /// Has standard input ended before its first line?
  bool had_none() const { return count_ == 0; }

  /// Returns the next lines without their ends, none when there are no more: at most `most`, one on a terminal. Blocks for
  /// the first line only where they come through a pipe: the writer may wait for the answer.
  std::vector<std::string> next(std::size_t most);

 private:
  bool read(std::string& line);

  std::vector<std::string> given_;
  std::optional<LineReader> input_;  ///< where standard input is read
  std::size_t count_ = 0;
  bool is_interactive_ = false;
};

/// Calls `answer` with lines, at most `most` together, and the number of the first of them, from 0. `check` throws Error for
/// an invalid line: those before it are answered, then the error is reported with its number.
void answer_in_batches(TextLines& lines, std::size_t most, const std::function<void(const std::string& line)>& check,
                       const std::function<void(const std::vector<std::string>& lines, std::size_t first)>& answer);

/// Returns a text on one line: its line breaks become \n and \r.
std::string on_one_line(const std::string& text);

/// Writes a line to standard output. Throws Error when the reader has closed it.
void write_line(const std::string& text);

/// Returns the ids that a line of text lists: a JSON array, a JSON object whose "ids" is one, or numbers with white space or
/// commas between them. An empty line lists none. Throws Error with the reason for an invalid line.
std::vector<std::uint32_t> parse_ids(const std::string& line);

}  // namespace headlight::app
