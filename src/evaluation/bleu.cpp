#include "evaluation/bleu.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "core/error.h"

namespace headlight::evaluation {
namespace {

using Words = std::vector<std::string>;
using NGramCounts = std::map<std::vector<std::string_view>, std::uint64_t>;

NGramCounts count_n_grams(const Words& words, std::size_t order) {
  NGramCounts counts;
  for (std::size_t first = 0; first + order <= words.size(); ++first) {
    std::vector<std::string_view> n_gram;
    for (std::size_t i = first; i < first + order; ++i) n_gram.emplace_back(words[i]);
    ++counts[std::move(n_gram)];
  }
  return counts;
}

/// Matched n-grams: each of the hypothesis counts at most as often as in the reference.
std::uint64_t count_matches(const Words& hypothesis, const Words& reference, std::size_t order) {
  const NGramCounts wanted = count_n_grams(reference, order);
  std::uint64_t matches = 0;
  for (const auto& [n_gram, count] : count_n_grams(hypothesis, order)) {
    const auto found = wanted.find(n_gram);
    if (found != wanted.end()) matches += std::min(count, found->second);
  }
  return matches;
}

}  // namespace

Bleu corpus_bleu(std::span<const Words> hypotheses, std::span<const Words> references) {
  if (hypotheses.size() != references.size()) {
    throw Error("{} hypotheses for {} references: give one for each", hypotheses.size(), references.size());
  }
  std::array<std::uint64_t, kBleuOrders> matches{}, totals{};
  Bleu bleu;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    bleu.hypothesis_words += hypotheses[i].size();
    bleu.reference_words += references[i].size();
    for (std::size_t order = 1; order <= kBleuOrders; ++order) {
      matches[order - 1] += count_matches(hypotheses[i], references[i], order);
      totals[order - 1] += hypotheses[i].size() >= order ? hypotheses[i].size() - order + 1 : 0;
    }
  }
  if (bleu.hypothesis_words == 0) return bleu;
  bleu.brevity_penalty =
      std::min(1.0, std::exp(1.0 - static_cast<double>(bleu.reference_words) / static_cast<double>(bleu.hypothesis_words)));
  double product = 1.0;
  for (std::size_t i = 0; i < kBleuOrders; ++i) {
    if (totals[i] > 0) bleu.precision[i] = static_cast<double>(matches[i]) / static_cast<double>(totals[i]);
    product *= bleu.precision[i];
  }
  bleu.score = 100.0 * bleu.brevity_penalty * std::pow(product, 1.0 / kBleuOrders);
  return bleu;
}

}  // namespace headlight::evaluation
