#include "app/widgets/math_text.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "app/widgets/ink.h"

namespace headlight::app {
namespace {

constexpr float kScriptSize = 0.8F;

/// Bytes of the UTF-8 character at the front.
std::size_t character_bytes(std::string_view text) {
  std::size_t bytes = 1;
  while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) ++bytes;
  return bytes;
}

/// The script after '_' or '^': "{…}" with its braces balanced, or one character. Moves `text` after it.
std::string_view take_script(std::string_view& text) {
  if (text.empty() || text.front() != '{') {
    const std::string_view script = text.substr(0, text.empty() ? 0 : character_bytes(text));
    text.remove_prefix(script.size());
    return script;
  }
  int depth = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (text[end] == '{') ++depth;
    if (text[end] == '}' && --depth == 0) break;
  }
  const std::string_view script = text.substr(1, end - 1);
  text.remove_prefix(std::min(end + 1, text.size()));
  return script;
}

/// Lays out a formula from left to right; draws only with a list.
class Typesetter {
 public:
  Typesetter(ImDrawList* list, const shell::FontSet& fonts, shell::Color color)
      : list_(list), fonts_(fonts), color_(color) {}

  /// Returns where the text ends.
  float set(std::string_view formula, ImFont* font, float size, float x, float y) {
    while (!formula.empty()) {
      const std::size_t plain = std::min(formula.find_first_of("_^"), formula.size());
      if (plain > 0) x = put(formula.substr(0, plain), font, size, x, y);
      formula.remove_prefix(plain);
      if (formula.empty()) break;
      const bool is_raised = formula.front() == '^';
      formula.remove_prefix(1);
      const std::string_view script = take_script(formula);
      const float small = std::round(size * kScriptSize);
      const float shift = is_raised ? -0.14F * size : size - small + 0.14F * size;
      x = set(script, fonts_.small, small, x + 0.5F, y + shift) + 0.5F;
    }
    return x;
  }

 private:
  float put(std::string_view text, ImFont* font, float size, float x, float y) {
    const char* begin = text.data();
    const char* end = begin + text.size();
    if (list_) list_->AddText(font, size, ImVec2(x, y), color_, begin, end);
    return x + font->CalcTextSizeA(size, FLT_MAX, 0.0F, begin, end).x;
  }

  ImDrawList* list_;
  const shell::FontSet& fonts_;
  shell::Color color_;
};

}  // namespace

glm::vec2 measure_math(const shell::FontSet& fonts, ImFont* base, std::string_view formula) {
  return {Typesetter(nullptr, fonts, 0).set(formula, base, font_size(base), 0.0F, 0.0F), font_size(base)};
}

void draw_math(ImDrawList* list, const shell::FontSet& fonts, ImFont* base, glm::vec2 top_left, shell::Color color,
               std::string_view formula) {
  Typesetter(list, fonts, color).set(formula, base, font_size(base), top_left.x, top_left.y);
}

}  // namespace headlight::app
