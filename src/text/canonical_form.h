#pragma once

#include <string_view>
#include <vector>

#include "text/normalized_text.h"

namespace headlight::text {

enum class CanonicalForm { Nfc, Nfd, Nfkc, Nfkd };

/// A text's Unicode normalization form (UAX #15), as changes: a composed character replaces all its parts, the parts
/// of a decomposed one are inserted after the first.
std::vector<Change> to_canonical_form(std::string_view valid_utf8, CanonicalForm form);

}  // namespace headlight::text
