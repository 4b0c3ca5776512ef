#include "text/unicode.h"

#include <algorithm>

#include <utf8proc.h>

#include "core/error.h"
#include "core/utf8.h"

namespace headlight::text {
namespace {

utf8proc_category_t category(char32_t code_point) { return utf8proc_category(static_cast<utf8proc_int32_t>(code_point)); }

/// So (Symbol, other) that are Other_Alphabetic (PropList.txt): circled and squared Latin letters.
bool is_enclosed_letter(char32_t c) {
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
         (c >= 0x1F170 && c <= 0x1F189);
}

}  // namespace

std::size_t character_length(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(length, text.size() - at);
}

void require_utf8(std::string_view text, std::string_view what) {
  const std::size_t broken = find_invalid_utf8(text);
  if (broken != std::string_view::npos)
    throw Error("{} isn't UTF-8 (byte {}): the file is damaged, download it again", what, broken);
}

char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  const char32_t first = byte(at);
  const std::size_t length = character_length(text, at);
  char32_t code_point = first;
  if (length > 1) code_point = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) code_point = (code_point << 6U) | (byte(at + i) & 0x3FU);
  at += length;
  return code_point;
}

char32_t previous_code_point(std::string_view text, std::size_t& at) {
  do {
    --at;
  } while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U);
  std::size_t begin = at;
  return next_code_point(text, begin);
}

void append_utf8(std::string& text, char32_t code_point) {
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
    return;
  }
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
  for (utf8proc_ssize_t i = 0; i < length; ++i) text += static_cast<char>(bytes[i]);
}

std::size_t count_code_points(std::string_view valid_utf8) {
  std::size_t count = 0;
  for (const char c : valid_utf8) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  return count;
}

std::u32string to_utf32(std::string_view valid_utf8) {
  std::u32string code_points;
  code_points.reserve(valid_utf8.size());
  for (std::size_t at = 0; at < valid_utf8.size();) code_points += next_code_point(valid_utf8, at);
  return code_points;
}

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  const utf8proc_category_t of = category(c);
  return of >= UTF8PROC_CATEGORY_PC && of <= UTF8PROC_CATEGORY_PO;
}

bool is_numeric(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  const utf8proc_category_t of = category(c);
  return of >= UTF8PROC_CATEGORY_ND && of <= UTF8PROC_CATEGORY_NO;
}

bool is_mark(char32_t c) {
  if (c < 0x300) return false;
  const utf8proc_category_t of = category(c);
  return of >= UTF8PROC_CATEGORY_MN && of <= UTF8PROC_CATEGORY_ME;
}

bool is_nonspacing_mark(char32_t c) { return c >= 0x300 && category(c) == UTF8PROC_CATEGORY_MN; }

bool is_other(char32_t c) {
  if (c < 0x80) return c < 0x20 || c == 0x7F;
  const utf8proc_category_t of = category(c);
  return of >= UTF8PROC_CATEGORY_CC && of <= UTF8PROC_CATEGORY_CO;
}

bool is_word_character(char32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  const utf8proc_category_t of = category(c);
  return (of >= UTF8PROC_CATEGORY_LU && of <= UTF8PROC_CATEGORY_NL) || of == UTF8PROC_CATEGORY_PC || c == 0x200C ||
         c == 0x200D || is_enclosed_letter(c);
}

void append_lower_case(std::u32string& text, char32_t c) {
  if (c == 0x130) {
    text += U"i\u0307";  // the only character whose lower case is two (SpecialCasing.txt)
  } else if (c < 0x80) {
    text += c >= 'A' && c <= 'Z' ? c + 0x20 : c;
  } else {
    text += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  }
}

std::string lower_cased(std::string_view valid_utf8) {
  std::u32string lower;
  for (const char32_t c : to_utf32(valid_utf8)) append_lower_case(lower, c);
  std::string result;
  for (const char32_t c : lower) append_utf8(result, c);
  return result;
}

}  // namespace headlight::text
