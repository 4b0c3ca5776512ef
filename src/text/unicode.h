#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headlight::text {

/// The code point at text[at]; moves `at` after it, but never past the end. The text must be valid UTF-8 (other bytes give
/// a meaningless code point) and `at` inside it.
char32_t next_code_point(std::string_view text, std::size_t& at);
/// The code point that ends at text[at); moves `at` before it. The text must be valid UTF-8 and `at` > 0.
char32_t previous_code_point(std::string_view text, std::size_t& at);
/// Bytes of the character at text[at], at most those that remain in the text. `at` must be inside it.
std::size_t character_length(std::string_view text, std::size_t at);
/// Throws Error "<what> isn't UTF-8 (byte N)" unless the text is.
void require_utf8(std::string_view text, std::string_view what);
void append_utf8(std::string& text, char32_t code_point);
std::size_t count_code_points(std::string_view valid_utf8);
std::u32string to_utf32(std::string_view valid_utf8);

/// Unicode's White_Space property.
bool is_white_space(char32_t code_point);
/// General categories: P, with the ASCII symbols that C's ispunct() counts too ($+<=>^`|~).
bool is_punctuation(char32_t code_point);
bool is_numeric(char32_t code_point);          ///< N
bool is_mark(char32_t code_point);             ///< M
bool is_nonspacing_mark(char32_t code_point);  ///< Mn
bool is_other(char32_t code_point);            ///< Cc, Cf, Cs, Co: control, format, private use
/// \w of Unicode's regular expressions (UTS #18): alphabetic, marks, decimal digits, connectors, joiners.
bool is_word_character(char32_t code_point);

/// Appends the full lower case of one character, regardless of its context (İ gives two).
void append_lower_case(std::u32string& text, char32_t code_point);
std::string lower_cased(std::string_view valid_utf8);

}  // namespace headlight::text
