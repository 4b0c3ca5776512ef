#pragma once

#include <string>
#include <string_view>

#include "text/pipeline.h"

namespace headlight::text {

/// A token's spelling as a person reads it: letters of GPT-2's alphabet and tokens like "<0x0A>" as what they stand for,
/// spaces and word marks as "·", newlines as "⏎", tabs as "⇥", anything else that has no shape by its number.
std::string to_label(std::string_view spelling, Spelling kind);

}  // namespace headlight::text
