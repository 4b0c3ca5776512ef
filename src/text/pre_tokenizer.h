#pragma once

#include <memory>
#include <vector>

#include "text/piece.h"
#include "text/regex.h"

namespace headlight::text {

/// The second stage of a tokenizer: splits pieces into smaller ones, which the model never joins. Immutable.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Added tokens among the pieces stay unchanged.
  virtual void apply(std::vector<Piece>& pieces) const = 0;
};

using PreTokenizerPointer = std::unique_ptr<const PreTokenizer>;

/// Where a word mark is inserted before a text that has none.
enum class PrependScheme { First, Never, Always };

struct MetaspaceOptions {
  std::string replacement = "▁";
  PrependScheme prepend = PrependScheme::Always;
  bool splits = true;
};

/// Words as GPT-2 splits them (when `uses_regex`), in GPT-2's alphabet of bytes.
PreTokenizerPointer make_byte_level_pre_tokenizer(bool adds_prefix_space, bool uses_regex);
/// Runs of word characters and runs of others.
PreTokenizerPointer make_whitespace_pre_tokenizer();
PreTokenizerPointer make_whitespace_split_pre_tokenizer();
/// White space removed, punctuation isolated.
PreTokenizerPointer make_bert_pre_tokenizer();
/// Spaces become word marks; splits before each.
PreTokenizerPointer make_metaspace_pre_tokenizer(MetaspaceOptions options);
/// Splits at matches of a pattern, or at the text between them when `inverted`.
PreTokenizerPointer make_split_pre_tokenizer(Regex pattern, SplitBehavior behavior, bool inverted);
PreTokenizerPointer make_digits_pre_tokenizer(bool individually);
PreTokenizerPointer make_punctuation_pre_tokenizer(SplitBehavior behavior);
PreTokenizerPointer make_delimiter_pre_tokenizer(char32_t delimiter);
/// Pieces of `length` characters.
PreTokenizerPointer make_fixed_length_pre_tokenizer(std::size_t length);
PreTokenizerPointer make_pre_tokenizer_sequence(std::vector<PreTokenizerPointer> pre_tokenizers);

}  // namespace headlight::text
