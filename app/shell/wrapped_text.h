#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::shell {

/// A text laid out in lines no wider than a width, for a field that breaks lines at newlines only. The shown text has a
/// newline at every break: instead of a space, or, inside a word that is wider than a line, an added one. The text itself
/// never contains them. Positions are bytes, at characters' borders.
class WrappedText {
 public:
  /// Width of one character (UTF-8), in the unit of the lines' width.
  using Measure = std::function<float(std::string_view)>;

  WrappedText() = default;
  /// `width`: infinity wraps nothing.
  WrappedText(std::string text, float width, const Measure& measure);

  const std::string& text() const { return text_; }
  const std::string& shown() const { return shown_; }
  std::size_t lines() const { return lines_; }

  std::size_t to_text(std::size_t shown) const;
  /// Returns the position in the shown text: after the break where one was added there.
  std::size_t to_shown(std::size_t text) const;

  struct Edit {
    std::string text;
    std::size_t caret = 0;  ///< in the text
  };
  /// Returns the text after an edit of the shown text: `now` is the new shown text with the caret at `caret`; it was at
  /// `caret_before`. Deleting an added break deletes the character beside it, on the side that the key deletes.
  Edit edited(std::string_view now, std::size_t caret, std::size_t caret_before) const;

  /// Returns the original of a piece copied from the shown text, which is searched at `begin` first.
  std::string copied(std::string_view piece, std::size_t begin) const;

 private:
  void break_line(std::string_view line, float width, const Measure& measure);

  std::string text_, shown_;
  std::vector<std::size_t> added_;  ///< positions of added newlines in `shown_`, ascending
  std::size_t lines_ = 1;
};

/// Returns the end in `after` of the last byte that differs between two texts.
std::size_t end_of_change(std::string_view before, std::string_view after);

/// A text for Dear ImGui's text fields, whose characters have 16 bits in distributions' builds: each character beyond U+FFFF
/// is replaced by one of the private use area. Positions are bytes, at characters' borders. The text is unchanged where
/// ImGui's characters have 32 bits.
class NarrowText {
 public:
  /// The character that replaces one beyond U+FFFF: three bytes of UTF-8.
  using Replace = std::function<std::string(std::string_view)>;

  NarrowText(std::string_view utf8, const Replace& replace);

  const std::string& text() const { return text_; }
  std::size_t from_original(std::size_t position) const;
  std::size_t to_original(std::size_t position) const;

 private:
  std::string text_;
  std::vector<std::size_t> replaced_;  ///< positions in `text_`, ascending
};

}  // namespace headlight::shell
