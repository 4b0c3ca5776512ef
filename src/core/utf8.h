#pragma once

#include <filesystem>
#include <string_view>

namespace headlight {

/// A sequence of bytes in a text: a character, or the maximal invalid part of one (Unicode 15, table 3-7).
struct Utf8Sequence {
  std::size_t length = 1;
  bool is_valid = false;
};
/// `at` must be inside the text. A sequence never reaches past the text's end.
Utf8Sequence utf8_sequence(std::string_view text, std::size_t at);

/// A path as files and screens show it: every place that writes one takes it from here.
std::string utf8(const std::filesystem::path& path);

/// Index of the first byte that isn't valid UTF-8 (nor are overlong forms and surrogates); npos when all are.
std::size_t find_invalid_utf8(std::string_view text);

inline constexpr std::size_t kLongestMessage = 800;  ///< bytes: some lines of a terminal

/// Untrusted text as one printable line: control characters, bidirectional controls and invalid UTF-8 are escaped as "\n",
/// "\x1B" and "\u202E"; of a text longer than `longest` bytes the middle becomes "…".
std::string one_line(std::string_view text, std::size_t longest = kLongestMessage);

}  // namespace headlight
