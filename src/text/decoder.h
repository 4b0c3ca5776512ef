#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/regex.h"

namespace headlight::text {

/// The last stage, for decoding: converts token strings to parts of a text. Immutable.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void apply(std::vector<std::string>& parts) const = 0;
};

using DecoderPointer = std::unique_ptr<const Decoder>;

/// Letters of GPT-2's alphabet become the bytes they encode; invalid UTF-8 becomes U+FFFD.
DecoderPointer make_byte_level_decoder();
/// Spaces between words; `cleans_up` removes them before punctuation and English contractions.
DecoderPointer make_word_piece_decoder(std::string prefix, bool cleans_up);
/// Word marks become spaces; those of the first token are removed when `drops_first`.
DecoderPointer make_metaspace_decoder(char32_t mark, bool drops_first);
/// Runs of tokens like "<0xE2>" become characters, or U+FFFD each.
DecoderPointer make_byte_fallback_decoder();
DecoderPointer make_fuse_decoder();
DecoderPointer make_replace_decoder(Regex pattern, std::string content);
/// Removes up to this many of one character from either end of each part.
DecoderPointer make_strip_decoder(char32_t content, std::size_t from_start, std::size_t from_end);
/// The suffix that marks the end of a word becomes a space.
DecoderPointer make_bpe_decoder(std::string suffix);
/// Connectionist temporal classification: repetitions and padding are removed.
DecoderPointer make_ctc_decoder(std::string padding, std::string word_delimiter, bool cleans_up);
DecoderPointer make_decoder_sequence(std::vector<DecoderPointer> decoders);

}  // namespace headlight::text
