#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/normalized_text.h"

namespace headlight::text {

/// Replaces each byte of the text by a letter of GPT-2's alphabet: most of Latin-1 is itself, the rest is from U+0100 on
/// (the space is "Ġ", the newline "Ċ"). The letters of a character share its byte range.
void to_byte_letters(NormalizedText& text);
/// The letters of bytes, which needn't be UTF-8.
std::string byte_letters(std::string_view bytes);
/// Appends the bytes that a token string encodes. Where one of its characters isn't in the alphabet it appends the string
/// itself and returns false.
bool append_letter_bytes(std::string& bytes, std::string_view token_string);

}  // namespace headlight::text
