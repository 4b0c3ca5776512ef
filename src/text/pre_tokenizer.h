#pragma once

#include <functional>
#include <vector>

#include "text/piece.h"

namespace headlight::text {

class JsonNode;

/// The second stage of a tokenizer: splits pieces into smaller ones, which the model never joins; added tokens among them
/// stay unchanged. Immutable; empty where a tokenizer has none.
using PreTokenizer = std::function<void(std::vector<Piece>& pieces)>;

/// The rule for inserting a word mark before a text that has none.
enum class PrependScheme { First, Never, Always };

/// Older files say add_prefix_space instead of prepend_scheme.
PrependScheme read_prepend_scheme(const JsonNode& node);

/// Throws LocatedError for a type that Headlight doesn't know.
PreTokenizer read_pre_tokenizer(const JsonNode& node);

}  // namespace headlight::text
