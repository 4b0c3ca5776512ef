#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace headlight::evaluation {

/// How well a head's attention A matches a pattern D, a set of cells [query, key].
struct PatternMatch {
  double mass = 0.0;          ///< PatternMeasure::Mean: mean over `queries` of Σ A[q, k] over the keys k of the pattern
  double chance = 0.0;        ///< the mass of uniform attention: mean of (visible keys of the pattern ÷ visible keys)
  std::uint32_t queries = 0;  ///< those that have a key of the pattern
};

/// Adds up the match of one head from rows of its attention, in any order and without ever holding the whole map.
class PatternMeter {
 public:
  /// A row of A, and the keys that the pattern has in it; a query without any doesn't count. `sum`: of the whole row, where
  /// it isn't finite there is no match. `chance`: of uniform attention to these keys.
  void add(std::span<const double> weights, double sum, std::span<const std::uint32_t> keys, double chance = 0.0);
  /// A row compared with uniform attention: the mass is Σ min(A[q, k], 1 ÷ visible keys), 1 where they are equal, and the
  /// query counts where it sees two keys or more. `masked` [key]: 1 where the mask hides the key; empty: nowhere.
  void add_evenness(std::span<const double> weights, std::span<const std::uint8_t> masked);

  /// Of the rows so far. None: no query counts, or a weight isn't finite.
  std::optional<PatternMatch> match() const;
  /// The match's mass; 0 where no query counts, NaN where a weight isn't finite.
  double mass() const;

 private:
  double mass_ = 0.0, chance_ = 0.0;
  std::uint32_t queries_ = 0;
};

}  // namespace headlight::evaluation
