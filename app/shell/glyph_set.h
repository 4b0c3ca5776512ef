#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace headlight::shell {

/// The code point that begins at `at`, which moves on; U+FFFD for what is no UTF-8.
std::uint32_t next_code_point(std::string_view utf8, std::size_t& at);

/// Which characters the fonts must be able to show. Begins with what European languages and formulas need; a new character
/// of a small alphabet brings its whole block along, so that typing on in it changes nothing.
class GlyphSet {
 public:
  GlyphSet();

  /// True when something was added. Malformed bytes, code points above U+FFFF and the private use area, which pictures of
  /// texts take (ShapedTexts), are passed over.
  bool add(std::string_view utf8);
  bool contains(std::uint32_t code_point) const { return code_point < wanted_.size() && wanted_[code_point]; }
  /// All characters in order.
  std::vector<std::uint32_t> code_points() const;
  /// The characters beyond the first ones that add() really saw: worth looking for another font.
  const std::vector<std::uint32_t>& requested() const { return requested_; }

 private:
  std::vector<bool> wanted_;  ///< [0x10000]
  std::vector<std::uint32_t> requested_;
};

}  // namespace headlight::shell
