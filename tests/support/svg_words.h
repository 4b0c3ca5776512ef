#pragma once

#include <string>
#include <string_view>

namespace headlight::test {

/// Returns a figure's words, with a space for each run of tags and white space: where a font makes a long title wrap is
/// no matter.
inline std::string svg_words(std::string_view svg) {
  std::string words;
  bool is_in_tag = false;
  for (const char c : svg) {
    if (c == '<') is_in_tag = true;
    const bool is_gap = is_in_tag || c == ' ' || c == '\n';
    if (c == '>') is_in_tag = false;
    if (!is_gap) {
      words += c;
    } else if (!words.empty() && words.back() != ' ') {
      words += ' ';
    }
  }
  return words;
}

}  // namespace headlight::test
