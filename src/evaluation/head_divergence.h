#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headlight::evaluation {

/// The difference between the attention of every two heads: the mean over queries of the Jensen–Shannon divergence of
/// their rows,
///   JS(p, q) = H((p + q) / 2) − (H(p) + H(q)) / 2,   H(p) = −Σ p log₂ p  (Lin 1991, "Divergence Measures Based on the
///   Shannon Entropy", eq. 4.1; base 2),
/// 0 where they are equal and 1 where no key gets weight from both. In double precision, pair by pair, so that a caller
/// can stop anywhere and go on later.
class HeadDivergence {
 public:
  explicit HeadDivergence(std::uint32_t heads);

  std::uint32_t heads() const { return heads_; }
  /// Pairs of different heads, in the order (0, 1), (0, 2), …, (1, 2), …
  std::size_t pairs() const { return std::size_t{heads_} * (heads_ - 1) / 2; }

  /// Takes over weights of some queries and keys, [head][cell]; the same cells of all heads. The previous ones must be done.
  void begin(std::vector<float> weights);
  /// Compares the cells of some more pairs: at most `most_cells` cells of pairs, but at least one pair. Returns whether all
  /// pairs are done.
  bool go_on(std::size_t most_cells);

  /// The mean over so many queries, [head, head], symmetric, 0 on the diagonal. Of cells that are done.
  std::vector<float> means(std::uint32_t queries) const;

 private:
  std::uint32_t heads_;
  std::vector<float> weights_;  ///< [head][cell]
  std::size_t cells_ = 0;       ///< of a head
  std::uint32_t first_ = 0, second_ = 1;
  std::vector<double> own_;    ///< [head] −Σ p log₂ p
  std::vector<double> joint_;  ///< [pair] −Σ m log₂ m, m = (p + q) / 2
};

/// An order of so many things in which similar ones are side by side: average linkage (UPGMA, Sokal & Michener 1958) by the
/// nearest-neighbour chain (Murtagh 1983), each two groups turned so that their nearest ends meet. `distances`:
/// [count, count], symmetric and finite. O(count²).
std::vector<std::uint32_t> order_by_similarity(std::span<const float> distances, std::uint32_t count);

}  // namespace headlight::evaluation
