#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace headlight::evaluation {

/// How well a head's attention A matches a pattern, a set of cells [query, key].
struct PatternMatch {
  double mass = 0.0;          ///< mean over `queries` of Σ A[q, k] over the keys k of the pattern
  double chance = 0.0;        ///< the mass of uniform attention: mean of (visible keys of the pattern ÷ visible keys)
  std::uint32_t queries = 0;  ///< those that count
};

/// Adds up the match of one head from rows of its attention, in any order and without ever holding the whole map.
class PatternMeter {
 public:
  /// A row of A; the query counts where it sees a key of the pattern. [key] each: weights; 1 where the mask hides the key
  /// (empty: nowhere); 1 where the pattern has the key.
  void add(std::span<const float> weights, std::span<const std::uint8_t> masked, std::span<const std::uint8_t> pattern);
  /// A row of a pattern that has every key of the part of a row that is given: the query counts in any case, and chance is
  /// not measured.
  void add_part(std::span<const float> weights);
  /// A row compared with uniform attention: the mass is Σ min(A[q, k], 1 ÷ visible keys), 1 where they are equal, and the
  /// query counts where it sees two keys or more.
  void add_evenness(std::span<const float> weights, std::span<const std::uint8_t> masked);

  /// Of the rows so far. None: no query counts, or a weight isn't finite.
  std::optional<PatternMatch> match() const;

 private:
  double mass_ = 0.0, chance_ = 0.0;
  std::uint32_t queries_ = 0;
};

}  // namespace headlight::evaluation
