#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace headlight::text {

/// A text whose invalid UTF-8 is replaced by U+FFFD, one for each maximal part of a sequence that could begin a character
/// (Unicode 15, section 3.9, "U+FFFD Substitution of Maximal Subparts"), as Python's errors="replace" does.
/// A valid text isn't copied: it must outlive this object.
class RepairedUtf8 {
 public:
  explicit RepairedUtf8(std::string_view text);

  std::string_view text() const { return broken_.empty() ? original_ : std::string_view(repaired_); }
  /// The range in the typed text of a range of text().
  ByteRange original(ByteRange range) const;

 private:
  struct Broken {
    std::uint32_t repaired = 0, original = 0;  ///< the first byte after a replacement, in both texts
  };
  std::uint32_t original(std::uint32_t at) const;

  std::string_view original_;
  std::string repaired_;
  std::vector<Broken> broken_;
};

}  // namespace headlight::text
