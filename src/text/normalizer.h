#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/canonical_form.h"
#include "text/normalized_text.h"
#include "text/precompiled_map.h"
#include "text/regex.h"

namespace headlight::text {

/// The first stage of a tokenizer: rewrites a text. Immutable.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(NormalizedText& text) const = 0;
};

using NormalizerPointer = std::unique_ptr<const Normalizer>;

struct BertNormalizerOptions {
  bool cleans_text = true;  ///< drops control characters, replaces white space by spaces
  bool spaces_out_chinese = true;
  std::optional<bool> strips_accents;  ///< absent: when it lowercases
  bool lowercases = true;
};

NormalizerPointer make_bert_normalizer(const BertNormalizerOptions& options);
NormalizerPointer make_canonical_normalizer(CanonicalForm form);
NormalizerPointer make_lowercase_normalizer();
/// Drops every mark (general category M).
NormalizerPointer make_strip_accents_normalizer();
/// Drops white space at the ends.
NormalizerPointer make_strip_normalizer(bool left, bool right);
NormalizerPointer make_replace_normalizer(Regex pattern, std::string content);
NormalizerPointer make_prepend_normalizer(std::string prefix);
/// SentencePiece's rules of NMT: drops controls, replaces unusual spaces by a space.
NormalizerPointer make_nmt_normalizer();
NormalizerPointer make_precompiled_normalizer(PrecompiledMap map);
/// Replaces bytes by letters of GPT-2's alphabet.
NormalizerPointer make_byte_level_normalizer();
NormalizerPointer make_normalizer_sequence(std::vector<NormalizerPointer> normalizers);

}  // namespace headlight::text
