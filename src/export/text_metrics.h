#pragma once

#include <memory>

#include "chart/ellipsis.h"
#include "export/canvas.h"

namespace headlight::exporting {

/// Preferred fonts, first to last; missing characters (CJK, emoji) come from the system's other fonts.
const char* font_families(FigureFont font);
/// Is one of the letters' own fonts installed, not only one that takes their place?
bool has_font(FigureFont font);

/// Measures text as both canvases draw it. One thread uses an object at a time.
class TextMetrics {
 public:
  explicit TextMetrics(FigureFont font = FigureFont::Sans);
  ~TextMetrics();
  TextMetrics(const TextMetrics&) = delete;
  TextMetrics& operator=(const TextMetrics&) = delete;

  float width(std::string_view text, float size, bool is_bold = false) const;
  /// width() of one size for chart::shorten().
  chart::MeasureText measure(float size, bool is_bold = false) const;
  /// Characters of a text that no installed font has, each once, ascending.
  std::vector<std::uint32_t> without_font(std::string_view text) const;
  /// Does a text begin in a right-to-left script?
  bool is_right_to_left(std::string_view text) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Line height of a text of this size; labels closer than this would touch.
constexpr float line_height(float size) { return 1.25F * size; }

/// A token as printed: valid UTF-8 (invalid bytes become U+FFFD), control characters as Control Pictures ("␊").
std::string printable(std::string_view token);

/// Lines of at most `width`, broken at spaces and at the text's own newlines; a word that is wider than a line is shortened.
std::vector<std::string> wrap(std::string_view text, float width, const chart::MeasureText& measure);

}  // namespace headlight::exporting
