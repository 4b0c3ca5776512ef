#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/pipeline.h"

namespace headlight::text {

/// A token's spelling as a person reads it: letters of GPT-2's alphabet and tokens like "<0x0A>" as what they stand for,
/// spaces and word marks as "·", newlines as "⏎", tabs as "⇥", anything else that has no shape by its number.
std::string to_label(std::string_view spelling, Spelling kind);

/// Labels of consecutive tokens. Where a character's UTF-8 bytes are spread over several tokens, each of them shows the
/// character and which part of it it is: "語 1/3", "語 2/3", "語 3/3". An empty spelling is a token without bytes.
std::vector<std::string> to_labels(std::span<const std::string_view> spellings, Spelling kind);

}  // namespace headlight::text
