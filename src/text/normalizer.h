#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "text/normalized_text.h"

namespace headlight::text {

class JsonNode;

/// The first stage of a tokenizer: rewrites a text. Immutable; empty where a tokenizer has none.
using Normalizer = std::function<void(NormalizedText& text)>;

/// Throws LocatedError for a type that Headlight doesn't know.
Normalizer read_normalizer(const JsonNode& node);
/// The bytes of a SentencePiece model's map of characters. Throws Error when they are damaged.
Normalizer make_precompiled_normalizer(std::string_view map);
Normalizer make_normalizer_sequence(std::vector<Normalizer> normalizers);

}  // namespace headlight::text
