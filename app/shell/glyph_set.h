#pragma once

#include <cstdint>
#include <string_view>
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

}  // namespace headlight::shell
