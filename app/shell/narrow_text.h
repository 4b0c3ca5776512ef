#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::shell {

/// A text for Dear ImGui's text fields, whose characters have 16 bits in distributions' builds: each character beyond U+FFFF
/// is replaced by one of the private use area. Positions are bytes, at characters' borders. The same text where ImGui's
/// characters have 32 bits.
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
