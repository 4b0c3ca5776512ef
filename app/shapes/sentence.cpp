#include "app/shapes/sentence.h"

#include <fmt/format.h>

namespace headlight::app {

std::string number_word(double number, const char* format) { return number_word(fmt::format(fmt::runtime(format), number)); }

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
