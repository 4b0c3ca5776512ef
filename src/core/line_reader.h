#pragma once

#include <cstdint>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/text_bytes.h"

namespace headlight {

/// Bytes of one line. A longer one is refused before it is all in memory: the input may have no end.
inline constexpr std::size_t kLongestLine = std::size_t{16} << 20;

/// The lines of a text file or of standard input, as TextBytes gives them: without their ends ("\n" or "\r\n"), and without
/// the byte order mark that some editors write at the beginning. Text after the last line's end is a line when it isn't
/// empty. Lines need not be UTF-8.
class LineReader {
 public:
  /// Opens the file as TextBytes does.
  explicit LineReader(const std::filesystem::path& path, bool takes_nul = false) : bytes_(path, takes_nul) {}

  /// Reads the next line; false at the end. Throws Error naming the file: as TextBytes::read(), or a line is too long.
  bool next(std::string& line);
  /// Would next() return without waiting? At the latest when a whole line is there.
  bool is_ready() const;
  /// Did the last line end in a line's end, and not with the file?
  bool had_line_end() const { return had_line_end_; }

  const std::string& name() const { return bytes_.name(); }

 private:
  TextBytes bytes_;
  std::string part_;    ///< what was read
  std::size_t at_ = 0;  ///< of `part_`, not returned yet
  std::uint64_t lines_ = 0;
  bool has_ended_ = false, had_line_end_ = false;
};

/// Takes what ends a line, but for the "\n", from its end.
void strip_line_end(std::string& line);
/// Takes the byte order mark from the beginning of a file's first line.
void strip_byte_order_mark(std::string& line);

/// Is each line of this file a JSON object? By its name: .jsonl, .ndjson or .json, compressed or not.
bool is_json_lines(const std::filesystem::path& path);
/// A line that is a JSON object with a member `field`. Throws Error without a file's name: it is no object, or has no such
/// member, and then those that it has.
nlohmann::json parse_json_line(std::string_view line, std::string_view field);
/// Returns the text of that member. Throws Error where parse_json_line() does, and where the member isn't a text.
std::string text_of_json_line(std::string_view line, std::string_view field = "text");

/// All texts of a file, `largest` bytes at most: its lines, or of JSON lines the texts of the objects, blank lines left out.
/// Throws Error in one line: the file can't be read, is too large, has no text, or a line isn't UTF-8 or no object.
std::vector<std::string> read_texts(const std::filesystem::path& path, std::uint64_t largest,
                                    std::string_view field = "text");

/// Returns those texts as one text, each line's end a "\n". Throws Error as read_texts() does, and for a text of JSON
/// lines that has line breaks itself.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t largest);

}  // namespace headlight
