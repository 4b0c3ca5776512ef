#pragma once

#include <string>
#include <utility>
#include <vector>

#include "text/word_model.h"

namespace headlight::text {

struct BpeOptions {
  std::optional<std::string> unknown;     ///< token for characters that aren't in the vocabulary
  std::string continuing_subword_prefix;  ///< in front of every character of a piece but the first
  std::string end_of_word_suffix;         ///< behind the last character
  bool fuses_unknown = false;
  bool falls_back_to_bytes = false;  ///< unknown characters as tokens "<0xE2>" of their bytes
  bool ignores_merges = false;       ///< a piece that is in the vocabulary is one token, whatever the merges say
};

/// Pairs of token strings that merge into one token, by rank: the first is merged first.
using Merges = std::vector<std::pair<std::string, std::string>>;

/// Byte-pair encoding (Sennrich et al. 2016): joins neighbours by the lowest rank until no merge is left.
/// Throws Error naming a merge whose parts or whole aren't in the vocabulary.
WordModelPointer make_bpe(Vocabulary vocabulary, const Merges& merges, BpeOptions options);

}  // namespace headlight::text
