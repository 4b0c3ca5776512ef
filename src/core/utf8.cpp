#include "core/utf8.h"

#include <cstdint>

#include <fmt/format.h>

namespace headlight {
namespace {

std::uint32_t code_point_of(std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(sequence[i])}; };
  if (sequence.size() == 1) return byte(0);
  std::uint32_t code_point = byte(0) & (0xFFu >> (sequence.size() + 1));
  for (std::size_t i = 1; i < sequence.size(); ++i) code_point = code_point << 6 | (byte(i) & 0x3Fu);
  return code_point;
}

/// Control characters, line and paragraph separators, bidirectional controls, which reorder the displayed text, and
/// characters without a width, but for those that join letters and emoji.
bool is_unprintable(std::uint32_t c) {
  if (c == 0xAD || c == 0x180E || c == 0x200B || (c >= 0x2060 && c <= 0x2064)) return true;
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

std::string escaped(std::uint32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  return c < 0x80 ? fmt::format("\\x{:02X}", c) : fmt::format("\\u{:04X}", c);
}

/// Is `at` inside a character of a valid text?
bool is_inside_character(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80u;
}

}  // namespace

std::string utf8(const std::filesystem::path& path) {
  const std::u8string text = path.u8string();
  return {text.begin(), text.end()};
}

Utf8Sequence utf8_sequence(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  if (first < 0x80) return {1, true};
  if (first < 0xC2 || first > 0xF4) return {1, false};
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  unsigned low = 0x80;
  unsigned high = 0xBF;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i >= text.size() || byte(at + i) < low || byte(at + i) > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const Utf8Sequence sequence = utf8_sequence(text, at);
    if (!sequence.is_valid) return at;
    at += sequence.length;
  }
  return std::string_view::npos;
}

std::string one_line(std::string_view text, std::size_t longest) {
  // Twice the limit is enough for both ends; the rest of a long text needn't be escaped.
  constexpr std::string_view kLeftOut = "…";
  if (text.size() > 2 * longest) {
    const std::string begin(text.substr(0, longest)), end(text.substr(text.size() - longest));
    return one_line(begin + end, longest);
  }
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Sequence sequence = utf8_sequence(text, at);
    const std::string_view bytes = text.substr(at, sequence.length);
    at += sequence.length;
    if (!sequence.is_valid) {
      for (const char byte : bytes) line += fmt::format("\\x{:02X}", static_cast<unsigned char>(byte));
    } else if (const std::uint32_t c = code_point_of(bytes); is_unprintable(c)) {
      line += escaped(c);
    } else {
      line += bytes;
    }
  }
  if (line.size() <= longest) return line;
  // The start of a message says what is wrong, the end what to do about it, so the middle is cut.
  const std::size_t kept = longest - kLeftOut.size();
  std::size_t begin = kept - kept / 3;
  std::size_t end = line.size() - kept / 3;
  while (is_inside_character(line, begin)) --begin;
  while (is_inside_character(line, end)) ++end;
  return line.substr(0, begin).append(kLeftOut).append(line, end);
}

}  // namespace headlight
