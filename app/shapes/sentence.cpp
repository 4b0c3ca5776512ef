#include "app/shapes/sentence.h"

#include <fmt/format.h>

namespace headlight::app {

std::string number_word(double number, const char* format) {
  std::string written = fmt::format(fmt::runtime(format), number);
  if (written.starts_with('-')) written.replace(0, 1, "\u2212");
  return number_word(written);
}

std::string plain_text(std::string_view sentence) {
  std::string text;
  char mark = 0;
  for (const char letter : sentence) {
    const bool is_mark = letter > 0 && letter <= kWordEnd;
    if (letter < kWordEnd && is_mark) mark = letter;
    text += !is_mark ? std::string(1, letter) : mark == kNumberMark ? "" : letter == kWordEnd ? "\u201D" : "\u201C";
  }
  return text;
}

}  // namespace headlight::app
