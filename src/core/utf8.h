#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headlight {

/// The bytes at one place of a text: a character, or the longest part of one that is broken (Unicode 15, table 3-7).
struct Utf8Sequence {
  std::size_t length = 1;
  bool is_valid = false;
};
/// `at` must be inside the text. A sequence never reaches past the text's end.
Utf8Sequence utf8_sequence(std::string_view text, std::size_t at);

/// Where the first byte stands that isn't UTF-8 (overlong forms and surrogates aren't); npos when all are.
std::size_t find_invalid_utf8(std::string_view text);

inline constexpr std::size_t kLongestMessage = 800;  ///< bytes: some lines of a terminal

/// Text from anywhere as one line that a terminal can show: control characters, characters that turn the direction of
/// writing and bytes that aren't UTF-8 as "\n", "\x1B" and "\u202E"; of what is longer than `longest` bytes the middle
/// becomes "…".
std::string one_line(std::string_view text, std::size_t longest = kLongestMessage);

}  // namespace headlight
