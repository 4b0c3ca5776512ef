#pragma once

#include <optional>

#include "inference/language_model.h"
#include "inference/prompt.h"
#include "inference/run.h"

namespace headlight::inference {

/// The word of the source that a token of the target came from, as cross-attention shows it.
struct AlignedToken {
  std::uint32_t target = 0;  ///< among the item's real target tokens, the decoder's start token being number 0
  std::uint32_t source = 0;  ///< among the item's real source tokens
  float weight = 0.0f;       ///< the mean weight of the heads

  bool operator==(const AlignedToken&) const = default;
};

/// Soft alignment (Bahdanau et al. 2015) of a run of `prompt`: for each token of the target
/// after its start token, the source token with the largest weight in the mean over all heads of one decoder layer's
/// cross-attention (none named: the last layer's), of equal ones the first. The row of weights is that in which the token
/// was predicted: the one of the token before it. Special tokens of the source (<sos>, <eos>, padding) don't count, though
/// they get weight; of the target neither do those at its end. [item][target token]; an item whose source has nothing but
/// special tokens has no entry. Throws Error when the run has no cross-attention or no such layer.
std::vector<std::vector<AlignedToken>> align(const Run& run, const LanguageModel& model, const Prompt& prompt,
                                             std::optional<std::uint32_t> layer = {});

}  // namespace headlight::inference
