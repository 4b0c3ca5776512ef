#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/pipeline.h"

namespace headlight::text {

/// A token's readable form: letters of GPT-2's alphabet and tokens like "<0x0A>" as the characters they encode, spaces and
/// word marks as "·", newlines as "⏎", tabs as "⇥", other characters without a glyph by their number.
std::string to_label(std::string_view token_string, TokenStringKind kind);

/// Labels of consecutive tokens. Where a character's UTF-8 bytes are spread over several tokens, each of them shows the
/// character, broken where it goes on: "語¦", "¦語¦", "¦語". An empty token string is a token without bytes.
std::vector<std::string> to_labels(std::span<const std::string_view> token_strings, TokenStringKind kind);

/// A label of to_labels() as part of a word: a character that is spread over several tokens is the first one's: "café" of
/// "café¦", and nothing of "¦é".
std::string without_parts(std::string_view label);

}  // namespace headlight::text
