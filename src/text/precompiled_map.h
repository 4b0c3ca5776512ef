#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/normalized_text.h"

namespace headlight::text {

/// SentencePiece's precompiled_charsmap: a double-array trie from strings to replacements.
class PrecompiledMap {
 public:
  /// Reads the bytes of the map: length of the trie in bytes (32 bits, little endian), the trie, the replacements, each
  /// ended by a zero. Throws Error when they are too short.
  explicit PrecompiledMap(std::string_view bytes);

  /// Throws Error where libsentencepiece's walk through the trie could leave the trie or the replacements, loop, or make a
  /// text grow without bound: the library checks none of this.
  void expect_sound() const;

  /// Replaces grapheme clusters of at most five bytes, else characters, as the `tokenizers` package does.
  void apply(NormalizedText& text) const;

 private:
  std::optional<std::string_view> find(std::string_view part) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

/// Bytes of a base64 text, or nothing when it isn't one.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace headlight::text
