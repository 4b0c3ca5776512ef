#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headlight::evaluation {

/// The counts of a token, or of a pair: query << 32 | key.
struct TokenCount {
  std::uint64_t key = 0;
  double mass = 0.0;  ///< of what was counted since the key has a counter
  std::uint64_t count = 0;
  double sure = 0.0;  ///< Misra and Gries' counter, at most `mass`

  bool operator==(const TokenCount&) const = default;
};

/// The keys with the largest mass, in a bounded number of counters that can be added up (Misra and Gries 1982; Agarwal et
/// al. 2012, "Mergeable Summaries"): whenever there are more, the largest counter that has no room is taken from all. The
/// mass of a key is too small by missed() at most, and of one that isn't in the sketch it is at most that; it is no more
/// than the whole mass ÷ (kCounters + 1).
class TokenSketch {
 public:
  static constexpr std::size_t kCounters = 256;

  TokenSketch() = default;
  /// Builds a sketch of exact counts, each key once and in ascending order.
  explicit TokenSketch(std::vector<TokenCount> counts);
  /// Restores a sketch from the values in a file. Throws Error where no sketch can have them.
  TokenSketch(std::vector<TokenCount> counters, double missed);

  /// Adds the other sketch. Which of two sketches is added to the other changes no bit; the order of three does.
  void merge(const TokenSketch& other);
  double missed() const { return missed_; }
  const std::vector<TokenCount>& counters() const { return counters_; }  ///< by key, ascending
  /// The largest mass first; of equal ones the smaller key.
  std::vector<TokenCount> heaviest(std::size_t most) const;

  bool operator==(const TokenSketch&) const = default;

 private:
  void shrink();

  std::vector<TokenCount> counters_;
  double missed_ = 0.0;
};

}  // namespace headlight::evaluation
