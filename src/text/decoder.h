#pragma once

#include <functional>
#include <string>
#include <vector>

#include "text/regex.h"

namespace headlight::text {

/// The last stage, for decoding: converts token strings to parts of a text. Immutable; empty where a tokenizer has none.
using Decoder = std::function<void(std::vector<std::string>& parts)>;

/// Letters of GPT-2's alphabet become the bytes they encode; invalid UTF-8 becomes U+FFFD.
Decoder make_byte_level_decoder();
/// Spaces between words; `cleans_up` removes them before punctuation and English contractions.
Decoder make_word_piece_decoder(std::string prefix, bool cleans_up);
/// Word marks become spaces; those of the first token are removed when `drops_first`.
Decoder make_metaspace_decoder(char32_t mark, bool drops_first);
/// Runs of tokens like "<0xE2>" become characters, or U+FFFD each.
Decoder make_byte_fallback_decoder();
Decoder make_fuse_decoder();
Decoder make_replace_decoder(Regex pattern, std::string content);
/// Removes up to this many of one character from either end of each part.
Decoder make_strip_decoder(char32_t content, std::size_t from_start, std::size_t from_end);
/// The suffix that marks the end of a word becomes a space.
Decoder make_bpe_decoder(std::string suffix);
/// Connectionist temporal classification: repetitions and padding are removed.
Decoder make_ctc_decoder(std::string padding, std::string word_delimiter, bool cleans_up);
Decoder make_decoder_sequence(std::vector<Decoder> decoders);

}  // namespace headlight::text
