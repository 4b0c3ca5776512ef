#pragma once

#include <string>
#include <utility>
#include <vector>

#include "text/word_model.h"

namespace headlight::text {

/// Token strings and the logarithms of their probabilities: [id].
using ScoredTokens = std::vector<std::pair<std::string, double>>;

/// The unigram language model (Kudo 2018): the segmentation of a piece with the highest sum of scores, found by Viterbi's
/// algorithm. An unknown character costs 10 more than the lowest score; unknown neighbours are one token, or one for each
/// byte when `falls_back_to_bytes`. Without `unknown`, characters without a token are left out.
/// Throws Error when `unknown` isn't an id of the vocabulary.
WordModelPointer make_unigram(ScoredTokens tokens, std::optional<std::uint32_t> unknown, bool falls_back_to_bytes);

}  // namespace headlight::text
