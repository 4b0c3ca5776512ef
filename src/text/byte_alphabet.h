#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/normalized_text.h"

namespace headlight::text {

/// Spells each byte of the text as a letter of GPT-2's alphabet: most of Latin-1 as itself, the rest from U+0100 on (the
/// space is "Ġ", the newline "Ċ"). The letters of a character share its place.
void spell_bytes(NormalizedText& text);
/// Appends the bytes behind a spelling, or the spelling itself when a character of it isn't of the alphabet.
void append_spelled_bytes(std::string& bytes, std::string_view spelling);

}  // namespace headlight::text
