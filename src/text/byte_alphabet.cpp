#include "text/byte_alphabet.h"

#include <array>

namespace headlight::text {
namespace {

constexpr bool shows_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<char32_t, 256> kLetters = [] {
  std::array<char32_t, 256> letters{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) letters[byte] = shows_itself(byte) ? byte : next++;
  return letters;
}();

constexpr std::array<int, 0x144> kBytes = [] {
  std::array<int, 0x144> bytes{};
  for (int& byte : bytes) byte = -1;
  for (unsigned byte = 0; byte < 256; ++byte) bytes[kLetters[byte]] = static_cast<int>(byte);
  return bytes;
}();

/// The byte that a letter of the alphabet encodes, −1 for any other character.
int from_byte_letter(char32_t letter) { return letter < kBytes.size() ? kBytes[letter] : -1; }

}  // namespace

void to_byte_letters(NormalizedText& text) {
  std::vector<Change> changes;
  changes.reserve(text.text().size());
  for (const char c : text.text()) {
    const auto byte = static_cast<unsigned char>(c);
    changes.push_back({kLetters[byte], (byte & 0xC0U) == 0x80U ? 1 : 0});
  }
  text.transform(changes);
}

std::string byte_letters(std::string_view bytes) {
  std::string letters;
  for (const char c : bytes) append_utf8(letters, kLetters[static_cast<unsigned char>(c)]);
  return letters;
}

bool append_letter_bytes(std::string& bytes, std::string_view token_string) {
  const std::size_t before = bytes.size();
  for (std::size_t at = 0; at < token_string.size();) {
    const int byte = from_byte_letter(next_code_point(token_string, at));
    if (byte < 0) {
      bytes.resize(before);
      bytes += token_string;
      return false;
    }
    bytes += static_cast<char>(byte);
  }
  return true;
}

}  // namespace headlight::text
