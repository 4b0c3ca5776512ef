#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace headlight::shell {

/// Returns the code point that begins at `at`, which moves on; U+FFFD for invalid UTF-8.
std::uint32_t next_code_point(std::string_view utf8, std::size_t& at);

/// The characters that the fonts must have. Starts with those of European languages and formulas; a new character of a small
/// alphabet adds its whole block, so that further typing adds nothing.
class GlyphSet {
 public:
  GlyphSet();

  /// Adds the characters of a text. True when something was added. Malformed bytes, code points above U+FFFF and the private
  /// use area, used for images of texts (ShapedTexts), are skipped.
  bool add(std::string_view utf8);
  bool contains(std::uint32_t code_point) const { return code_point < wanted_.size() && wanted_[code_point]; }
  /// Returns all characters in order.
  std::vector<std::uint32_t> code_points() const;
  /// Returns the characters beyond the first ones that texts contained: worth a search for another font.
  const std::vector<std::uint32_t>& requested() const { return requested_; }

 private:
  std::vector<bool> wanted_;  ///< [0x10000]
  std::vector<std::uint32_t> requested_;
};

/// Does the text have letters whose shape or order depends on their neighbours (Arabic, Hebrew, the scripts of India and
/// South-East Asia), emoji, or other characters beyond U+FFFF? Dear ImGui draws one glyph for each 16-bit character, left to
/// right.
bool needs_shaping(std::string_view utf8);
bool needs_shaping(std::uint32_t code_point);
/// Does a line begin in a right-to-left script?
bool is_right_to_left(std::string_view utf8);

/// Texts that are drawn as one image each, and the characters of the private use area that replace them: with them a text is
/// measured, clipped, rotated and coloured like any other.
class ShapedTexts {
 public:
  /// Returns the text, or its character where it needs shaping. A text that is too long, and any after some thousands of
  /// different ones, is unchanged.
  std::string replace(std::string_view utf8);
  /// Undoes replace() for all its characters in the text.
  std::string restore(std::string_view utf8) const;
  /// [code point − first()]
  const std::vector<std::string>& texts() const { return texts_; }
  static constexpr std::uint32_t first() { return 0xE000; }
  static constexpr std::uint32_t last() { return 0xF8FF; }

 private:
  std::unordered_map<std::string, std::uint32_t> codes_;
  std::vector<std::string> texts_;
};

/// A text as pixels: coverage, 0 to 255.
struct TextImage {
  int width = 0, height = 0;
  int advance = 0;                      ///< to the next character
  int baseline = 0;                     ///< rows above it
  int left = 0;                         ///< from the origin to the image
  std::vector<unsigned char> coverage;  ///< [height, width]
  /// [height, width], red in the lowest byte, alpha in the highest: of a text with glyphs that have colours of their own, as
  /// emoji; other glyphs in it are grey. Empty: `coverage` says all, in any colour.
  std::vector<std::uint32_t> colors;
};

/// The widest image of a text, in pixels: with its edges it fits a texture of 4,096, which any device has.
inline constexpr int kWidestTextImage = 4096 - 8;

/// Shapes and draws a line of text in any script with the installed fonts; `em_pixels`: the font's size. The text beyond the
/// widest image is cut off.
TextImage draw_text(std::string_view utf8, float em_pixels, bool is_bold);

}  // namespace headlight::shell
