#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/normalized_text.h"
#include "text/piece.h"
#include "text/tokenizer.h"

namespace headlight::text {

class JsonNode;

/// The first stage of a tokenizer: rewrites a text. Immutable; empty where a tokenizer has none.
using Normalizer = std::function<void(NormalizedText& text)>;

/// Throws LocatedError for a type that Headlight doesn't know.
Normalizer read_normalizer(const JsonNode& node);
/// The bytes of a SentencePiece model's map of characters. Throws Error when they are damaged.
Normalizer make_precompiled_normalizer(std::string_view map);
Normalizer make_normalizer_sequence(std::vector<Normalizer> normalizers);

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

class JsonNode;

/// A token of an encoded text, before byte ranges are mapped back.
struct EncodedToken {
  std::uint32_t id = 0;
  ByteRange bytes = {};        ///< of its text
  std::uint32_t type = 0;      ///< token type
  std::uint32_t source = 0;    ///< which of the texts
  std::uint32_t leading = 0;   ///< space characters at the start of its token string
  std::uint32_t trailing = 0;  ///< and at its end
  bool is_special = false;
};

/// The tokens of one text, or those that a template adds around texts.
struct Encoding {
  std::string_view text;
  std::vector<EncodedToken> tokens;
};

/// The stage after the model: special tokens around and between texts, token types, byte ranges without white space.
/// `encodings` has one for a text, two for a pair; any number may be left. Immutable; empty where a tokenizer has none.
using PostProcessor = std::function<void(std::vector<Encoding>& encodings, bool adds_special)>;

/// A part of a template: one of the texts, or special tokens.
struct TemplatePart {
  std::uint32_t type = 0;
  std::uint32_t source = 0;             ///< 0 or 1, when `ids` is empty
  std::vector<std::uint32_t> ids = {};  ///< of special tokens
};
using Template = std::vector<TemplatePart>;

PostProcessor make_template_post_processor(Template single, Template pair);
/// Throws LocatedError for a type that Headlight doesn't know.
PostProcessor read_post_processor(const JsonNode& node);

class JsonNode;

/// The last stage, for decoding: converts token strings to parts of a text. Immutable; empty where a tokenizer has none.
using Decoder = std::function<void(std::vector<std::string>& parts)>;

/// Throws LocatedError for a type that Headlight doesn't know.
Decoder read_decoder(const JsonNode& node);

}  // namespace headlight::text
