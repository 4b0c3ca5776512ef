#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/stages.h"
#include "text/tokenizer.h"
#include "text/word_model.h"

namespace headlight::text {

/// The encoding of spaces and bytes in token strings, for labels.
enum class TokenStringKind { Plain, ByteLetters, WordMarks };

/// The special tokens, as the tokenizer's configuration files name them.
struct SpecialTokenStrings {
  std::optional<std::string> beginning = {}, end = {}, padding = {}, unknown = {}, mask = {}, separator = {},
                             classification = {};
};

/// A special token's string, its id, and common strings for files that don't say which role each of theirs has.
struct SpecialTokenRole {
  std::optional<std::string> SpecialTokenStrings::*token_string;
  std::optional<std::uint32_t> SpecialTokens::*id;
  std::array<std::string_view, 4> candidates;
};
inline constexpr std::array<SpecialTokenRole, 7> kSpecialTokenRoles = {
    {{&SpecialTokenStrings::beginning, &SpecialTokens::beginning, {"<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>"}},
     {&SpecialTokenStrings::end, &SpecialTokens::end, {"</s>", "<eos>", "<|endoftext|>", "<|end_of_text|>"}},
     {&SpecialTokenStrings::padding, &SpecialTokens::padding, {"[PAD]", "<pad>", "<|pad|>", "<|finetune_right_pad_id|>"}},
     {&SpecialTokenStrings::unknown, &SpecialTokens::unknown, {"[UNK]", "<unk>", "<|unk|>", "<UNK>"}},
     {&SpecialTokenStrings::mask, &SpecialTokens::mask, {"[MASK]", "<mask>", "<|mask|>", "<MASK>"}},
     {&SpecialTokenStrings::separator, &SpecialTokens::separator, {"[SEP]", "<sep>", "<|sep|>", "<SEP>"}},
     {&SpecialTokenStrings::classification, &SpecialTokens::classification, {"[CLS]", "<cls>", "<|cls|>", "<CLS>"}}}};

/// The stages of a tokenizer before they become a Pipeline; all but the model may be empty.
struct Stages {
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  WordModelPointer model;
  PostProcessor post_processor;
  Decoder decoder;
  std::vector<AddedToken> added;
  TokenStringKind token_string_kind = TokenStringKind::Plain;
  SpecialTokenStrings special;
  std::vector<std::string> notes;  ///< what was guessed, in one line each
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

/// The stages that a tokenizer.json describes. Throws Error naming `file`, the place in it and the reason.
Stages read_tokenizer_json(std::string_view text, std::string_view file);

/// The stages of the tokenizer in a GGUF file. Throws Error naming the key that is missing or has an unsupported value.
Stages read_gguf_vocabulary(const GgufVocabulary& vocabulary);

}  // namespace headlight::text
