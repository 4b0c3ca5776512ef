#pragma once

#include "app/engine/analyses/analysis.h"
#include "inference/sampling.h"

namespace headlight::app {

/// Layers that a question is about: their logits are read in one step with the last layer's, from which they differ.
inline constexpr std::uint32_t kLensLayers = 4;
inline constexpr std::size_t kLensTokens = 5;

/// Asks what each layer would predict: its state through the final norm and the unembedding ("logit lens", nostalgebraist
/// 2020), or before that through the translator of a linear lens.
struct LensQuestion {
  std::uint32_t batch = 0;
  std::uint32_t token = 0;                   ///< the position, padding counted
  std::uint32_t first = 0;                   ///< of kLensLayers states: after so many layers
  std::optional<std::uint32_t> ranked = {};  ///< id of the token whose rank is shown; none: the last layer's likeliest
  std::string lens = {};                     ///< file of a linear lens (model/linear_lens.h); empty: none

  auto operator<=>(const LensQuestion&) const = default;
};
/// Asks for the prediction of every layer at every real token of a batch item; `token` and `first` don't count.
struct LensTableQuestion : LensQuestion {
  auto operator<=>(const LensTableQuestion&) const = default;
};

/// The prediction that is read from one state. Numbers are of the softmax over the whole vocabulary, in double precision;
/// NaN where a logit is.
struct LensCell {
  std::array<inference::Candidate, kLensTokens> likeliest;  ///< the likeliest first
  std::uint32_t known = 0;                                  ///< of these: fewer in a smaller vocabulary
  double entropy = 0.0;                                     ///< in nats
  double divergence = 0.0;   ///< of the last layer's prediction from it, in nats: KL(last ‖ this)
  std::uint32_t ranked = 0;  ///< whose rank and probability follow
  std::uint32_t rank = 0;    ///< 1: no token has a larger logit
  double probability = 0.0;
  double logit = 0.0;  ///< of the ranked token
};

struct LensCells final : AnalysisResult {
  std::vector<LensCell> layers;  ///< [layer − first], not beyond the last one
};
struct LensTable final : AnalysisResult {
  std::vector<std::vector<LensCell>> positions;  ///< [token − the first real one][layer]
};

/// Both throw what open_linear_lens() throws. All questions about one file share the opened lens.
Task<LensCells> analyse(LensQuestion question, AnalysisSubject subject);
Task<LensTable> analyse(LensTableQuestion question, AnalysisSubject subject);

/// Returns the prediction of `logits` beside that of the last layer's logits `last`, over the same vocabulary.
LensCell lens_cell(std::span<const float> logits, std::span<const float> last, std::optional<std::uint32_t> ranked);

}  // namespace headlight::app
