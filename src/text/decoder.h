#pragma once

#include <functional>
#include <string>
#include <vector>

namespace headlight::text {

class JsonNode;

/// The last stage, for decoding: converts token strings to parts of a text. Immutable; empty where a tokenizer has none.
using Decoder = std::function<void(std::vector<std::string>& parts)>;

/// Throws LocatedError for a type that Headlight doesn't know.
Decoder read_decoder(const JsonNode& node);

}  // namespace headlight::text
