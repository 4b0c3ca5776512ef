#include "export/markup.h"

#include <cstdint>
#include <iterator>
#include <memory>

#include <fmt/format.h>
#include <glib.h>

#include "core/utf8.h"

namespace headlight::exporting {
namespace {

std::uint32_t code_point(std::string_view sequence) {
  if (sequence.size() == 1) return static_cast<unsigned char>(sequence.front());
  std::uint32_t code = static_cast<unsigned char>(sequence.front()) & (0xFFU >> (sequence.size() + 1));
  for (const char byte : sequence.substr(1)) code = code << 6 | (static_cast<unsigned char>(byte) & 0x3FU);
  return code;
}

/// Is it a code point that is set aside as no character: the last two of each plane, and U+FDD0 … U+FDEF?
bool is_no_character(std::uint32_t code) { return (code & 0xFFFEU) == 0xFFFEU || (code >= 0xFDD0 && code <= 0xFDEF); }

bool is_control(std::uint32_t code) {
  return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0);
}

/// Calls `use` with each character's bytes and code point; of invalid bytes it is the replacement character.
template <typename Use>
void for_each_character(std::string_view text, const Use& use) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Sequence sequence = utf8_sequence(text, at);
    const std::string_view bytes = text.substr(at, sequence.length);
    use(sequence.is_valid ? bytes : std::string_view("\xEF\xBF\xBD"), sequence.is_valid ? code_point(bytes) : 0xFFFDU);
    at += sequence.length;
  }
}

}  // namespace

std::u32string code_points(std::string_view text) {
  std::u32string points;
  for_each_character(text, [&](std::string_view /*bytes*/, std::uint32_t code) { points += static_cast<char32_t>(code); });
  return points;
}

std::string markup_text(std::string_view text) {
  std::string markup;
  for_each_character(text, [&](std::string_view bytes, std::uint32_t code) {
    switch (code) {
      case '&':
        markup += "&amp;";
        break;
      case '<':
        markup += "&lt;";
        break;
      case '>':
        markup += "&gt;";
        break;
      case '"':
        markup += "&quot;";
        break;
      default:
        markup += is_control(code) || is_no_character(code) ? std::string_view("\xEF\xBF\xBD") : bytes;
    }
  });
  return markup;
}

std::string json_in_markup(std::string_view json) {
  std::string markup;
  for_each_character(json, [&](std::string_view bytes, std::uint32_t code) {
    if (code == '<' || (code < 0x10000 && (is_control(code) || is_no_character(code)))) {
      fmt::format_to(std::back_inserter(markup), "\\u{:04x}", code);
    } else if (is_no_character(code)) {
      const std::uint32_t rest = code - 0x10000;
      fmt::format_to(std::back_inserter(markup), "\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FFU));
    } else {
      markup += bytes;
    }
  });
  return markup;
}

std::string base64(std::string_view bytes) {
  const auto* from = reinterpret_cast<const guchar*>(bytes.data());
  return std::unique_ptr<char, decltype(&g_free)>(g_base64_encode(from, bytes.size()), g_free).get();
}

std::optional<std::string> from_base64(std::string_view text) {
  gsize size = 0;
  const std::unique_ptr<guchar, decltype(&g_free)> decoded(g_base64_decode(std::string(text).c_str(), &size), g_free);
  std::string bytes(reinterpret_cast<const char*>(decoded.get()), size);
  return base64(bytes) == text ? std::optional(std::move(bytes)) : std::nullopt;  // GLib skips what is no digit
}

}  // namespace headlight::exporting
