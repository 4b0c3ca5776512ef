#include "text/label.h"

#include <fmt/format.h>

#include "text/byte_alphabet.h"
#include "text/byte_tokens.h"
#include "text/unicode.h"
#include "text/utf8_repair.h"

namespace headlight::text {
namespace {

constexpr char32_t kWordMark = 0x2581;

void append_readable(std::string& label, char32_t c, Spelling kind) {
  if (c == ' ' || (c == kWordMark && kind == Spelling::WordMarks)) {
    label += "·";
  } else if (c == '\n') {
    label += "⏎";
  } else if (c == '\t') {
    label += "⇥";
  } else if (is_other(c) || (c != ' ' && is_white_space(c))) {
    label += fmt::format("\\u{:04X}", static_cast<std::uint32_t>(c));
  } else {
    append_utf8(label, c);
  }
}

}  // namespace

std::string to_label(std::string_view spelling, Spelling kind) {
  std::string bytes;
  if (kind == Spelling::ByteLetters) {
    append_spelled_bytes(bytes, spelling);
  } else if (const int byte = byte_of_token(spelling); byte >= 0 && byte < 0x80) {
    bytes = static_cast<char>(byte);
  } else {
    bytes = spelling;
  }
  std::string label;
  if (const RepairedUtf8 repaired(bytes); repaired.text() != bytes) {  // a part of a character
    for (const char c : bytes) label += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    return label;
  }
  for (std::size_t at = 0; at < bytes.size();) append_readable(label, next_code_point(bytes, at), kind);
  return label;
}

}  // namespace headlight::text
