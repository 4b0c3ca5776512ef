#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/added_tokens.h"
#include "text/decoder.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer.h"
#include "text/word_model.h"

namespace headlight::text {

/// How token strings encode spaces and bytes, for labels.
enum class TokenStringKind { Plain, ByteLetters, WordMarks };

/// The special tokens, as the tokenizer's configuration files name them.
struct SpecialTokenStrings {
  std::optional<std::string> beginning = {}, end = {}, padding = {}, unknown = {}, mask = {}, separator = {},
                             classification = {};
};

/// The stages of a tokenizer before they become a Pipeline; all but the model may be null.
struct Stages {
  NormalizerPointer normalizer;
  PreTokenizerPointer pre_tokenizer;
  WordModelPointer model;
  PostProcessorPointer post_processor;
  DecoderPointer decoder;
  std::vector<AddedToken> added;
  TokenStringKind token_string_kind = TokenStringKind::Plain;
  SpecialTokenStrings special;
};

/// A tokenizer's stages, in order.
struct Tokenizer::Pipeline {
  explicit Pipeline(Stages parts);

  Encoding encode(std::string_view valid_utf8, std::uint32_t source) const;
  std::optional<std::string_view> token_string(std::uint32_t id) const;
  std::optional<std::uint32_t> find(std::string_view token_string) const;

  Stages stages;
  AddedTokens added;
  SpecialTokens special;
};

}  // namespace headlight::text
