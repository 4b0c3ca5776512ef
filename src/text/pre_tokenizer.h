#pragma once

#include <functional>
#include <vector>

#include "text/piece.h"
#include "text/regex.h"

namespace headlight::text {

/// The second stage of a tokenizer: splits pieces into smaller ones, which the model never joins; added tokens among them
/// stay unchanged. Immutable; empty where a tokenizer has none.
using PreTokenizer = std::function<void(std::vector<Piece>& pieces)>;

/// Where a word mark is inserted before a text that has none.
enum class PrependScheme { First, Never, Always };

struct MetaspaceOptions {
  std::string replacement = "▁";
  PrependScheme prepend = PrependScheme::Always;
  bool splits = true;
};

/// Words as GPT-2 splits them (when `uses_regex`), in GPT-2's alphabet of bytes.
PreTokenizer make_byte_level_pre_tokenizer(bool adds_prefix_space, bool uses_regex);
/// Runs of word characters and runs of others.
PreTokenizer make_whitespace_pre_tokenizer();
PreTokenizer make_whitespace_split_pre_tokenizer();
/// White space removed, punctuation isolated.
PreTokenizer make_bert_pre_tokenizer();
/// Spaces become word marks; splits before each.
PreTokenizer make_metaspace_pre_tokenizer(MetaspaceOptions options);
/// Splits at matches of a pattern, or at the text between them when `inverted`.
PreTokenizer make_split_pre_tokenizer(Regex pattern, SplitBehavior behavior, bool inverted);
PreTokenizer make_digits_pre_tokenizer(bool individually);
PreTokenizer make_punctuation_pre_tokenizer(SplitBehavior behavior);
PreTokenizer make_delimiter_pre_tokenizer(char32_t delimiter);
/// Pieces of `length` characters.
PreTokenizer make_fixed_length_pre_tokenizer(std::size_t length);
PreTokenizer make_pre_tokenizer_sequence(std::vector<PreTokenizer> pre_tokenizers);

}  // namespace headlight::text
