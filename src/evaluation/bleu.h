#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headlight::evaluation {

inline constexpr std::size_t kBleuOrders = 4;  ///< n-grams of one to four words

/// BLEU of a corpus and its components.
struct Bleu {
  double score = 0.0;                           ///< 0 to 100
  std::array<double, kBleuOrders> precision{};  ///< [n − 1] of n-grams, 0 to 1
  double brevity_penalty = 0.0;                 ///< 1 where the hypotheses are not shorter than the references
  std::uint64_t hypothesis_words = 0, reference_words = 0;
};

/// BLEU-4 of whole sentences in words (Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine
/// Translation", §2), one reference for each hypothesis:
///   score = 100 · BP · (p₁ p₂ p₃ p₄)^¼,  pₙ = Σ min(count in hypothesis, count in reference) / Σ count in hypothesis
/// with sums over all n-grams of all sentences, BP = min(1, exp(1 − reference words / hypothesis words)). Nothing is
/// smoothed: an order without a match makes it 0. Throws Error when there are not as many references as hypotheses.
Bleu corpus_bleu(std::span<const std::vector<std::string>> hypotheses, std::span<const std::vector<std::string>> references);

}  // namespace headlight::evaluation
