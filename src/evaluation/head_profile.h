#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "evaluation/head_metric.h"
#include "model/config.h"

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

inline constexpr std::uint32_t kNearBins = 33;   ///< of distances and positions 0, 1, …, 32
inline constexpr std::uint32_t kPlaceBins = 43;  ///< then those to 64, to 128, …, to 32768
inline constexpr std::uint32_t kMapTokens = 32;  ///< of the mean map

/// The bin of a distance or a position; what is beyond the last bin is in it.
std::uint32_t place_bin(std::uint32_t place);
/// The largest place of a bin.
std::uint32_t place_bin_end(std::uint32_t bin);

/// The places that one head attends to, added up over texts whose attention A [query, key] is finite. In
/// cross-attention, whose queries and keys are tokens of two texts, there are no weights on the token itself and no
/// distances, so their sums are 0.
struct HeadProfile {
  std::uint64_t queries = 0;
  double first = 0.0;                                ///< Σ A[q, 0]
  double self = 0.0, self_squares = 0.0;             ///< Σ A[q, q], and of its squares
  double distance = 0.0, distance_squares = 0.0;     ///< Σ A[q, k] |q − k|, and of (q − k)²
  std::array<double, kPlaceBins> before = {};        ///< Σ A[q, k] by q − k, of keys up to the query
  std::array<double, kPlaceBins> after = {};         ///< Σ A[q, k] by k − q, of keys after it
  std::array<double, kPlaceBins> positions = {};     ///< by k
  std::array<std::uint64_t, kNearBins> cells = {};   ///< how many cells are so far from the diagonal, on one side of it
  std::array<std::uint64_t, kMapTokens> texts = {};  ///< that have a token at this position; of cross-attention all
  /// Σ A of texts aligned left; of cross-attention each text's map, stretched to this size: cell [i, j] is the mean, over
  /// the i-th 32nd of the queries, of the weight on the j-th 32nd of the keys.
  std::array<double, kMapTokens* kMapTokens> map = {};
  /// Sums of weights by token: those that a token gives as a query, those that it gets as a key, and query << 32 | key
  /// of each query's largest weight. The first token as a key counts in cross-attention only.
  TokenSketch query_tokens = {}, key_tokens = {}, pairs = {};

  /// Adds the profile of the texts that come next.
  void merge(const HeadProfile& next);
  double all() const;  ///< Σ A
  bool has_distances() const { return cells[0] > 0; }
  /// Mean and standard deviation of the distance, by weight; 0 without any.
  double mean_distance() const;
  double distance_spread() const;
  double self_spread() const;

  bool operator==(const HeadProfile&) const = default;
};

/// Adds up the profiles of all heads over the texts of a shard.
class ProfileMeter {
 public:
  using Lines = std::span<const std::vector<std::uint32_t>>;
  /// `lines`: the tokens of each text, `targets` those that its decoder reads; they must outlive the meter.
  ProfileMeter(std::size_t heads, Lines lines, Lines targets = {});
  /// `head`: among all. The map is finite; it is of attention of this kind.
  void add(std::size_t head, std::size_t line, const WeightMap& map, model::BlockKind kind = model::BlockKind::EncoderSelf);
  /// Returns each head's profile; the meter is used up.
  std::vector<HeadProfile> take();

 private:
  using Pair = std::pair<std::uint64_t, double>;
  /// Tokens of one text, and their numbers in the vocabulary.
  struct TextTokens {
    const std::vector<std::uint32_t>&ids, &numbers;
  };
  void add_rows(HeadProfile& profile, const WeightMap& map);
  void add_stretched(HeadProfile& profile, const WeightMap& map);
  void add_tokens(std::size_t head, const WeightMap& map, TextTokens queries, TextTokens keys);
  std::vector<TokenCount> counts_of(const TokenCount* tally) const;

  std::array<Lines, 2> sides_;                                      ///< lines and targets
  std::vector<std::uint32_t> vocabulary_;                           ///< the tokens of both, ascending
  std::array<std::vector<std::vector<std::uint32_t>>, 2> numbers_;  ///< [side][line] of the tokens in it
  std::vector<HeadProfile> profiles_;
  std::vector<TokenCount> as_query_, as_key_;                ///< [head][number]
  std::vector<std::vector<Pair>> pairs_;                     ///< [head]
  std::vector<double> columns_, diagonals_;                  ///< of one map: by key, by key − query + n − 1
  std::vector<double> given_;                                ///< by query, but for the first key
  std::vector<std::pair<std::uint32_t, double>> strongest_;  ///< by query: its key
};

}  // namespace headlight::evaluation
