#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/normalized_text.h"
#include "text/precompiled_map.h"
#include "text/regex.h"

namespace headlight::text {

enum class CanonicalForm { Nfc, Nfd, Nfkc, Nfkd };

/// A text's Unicode normalization form (UAX #15), as changes: a composed character replaces all its parts, the parts
/// of a decomposed one are inserted after the first.
std::vector<Change> to_canonical_form(std::string_view valid_utf8, CanonicalForm form);

/// The first stage of a tokenizer: rewrites a text. Immutable; empty where a tokenizer has none.
using Normalizer = std::function<void(NormalizedText& text)>;

struct BertNormalizerOptions {
  bool cleans_text = true;  ///< drops control characters, replaces white space by spaces
  bool spaces_out_chinese = true;
  std::optional<bool> strips_accents;  ///< absent: when it lowercases
  bool lowercases = true;
};

Normalizer make_bert_normalizer(const BertNormalizerOptions& options);
Normalizer make_canonical_normalizer(CanonicalForm form);
Normalizer make_lowercase_normalizer();
/// Drops every mark (general category M).
Normalizer make_strip_accents_normalizer();
/// Drops white space at the ends.
Normalizer make_strip_normalizer(bool left, bool right);
Normalizer make_replace_normalizer(Regex pattern, std::string content);
Normalizer make_prepend_normalizer(std::string prefix);
/// SentencePiece's rules of NMT: drops controls, replaces unusual spaces by a space.
Normalizer make_nmt_normalizer();
Normalizer make_precompiled_normalizer(PrecompiledMap map);
/// Replaces bytes by letters of GPT-2's alphabet.
Normalizer make_byte_level_normalizer();
Normalizer make_normalizer_sequence(std::vector<Normalizer> normalizers);

}  // namespace headlight::text
