#pragma once

#include <array>
#include <optional>

#include "evaluation/head_metric.h"

namespace headlight::evaluation {

/// The degree to which a head's attention A matches a pattern D, a set of cells [query, key].
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

  /// Returns the match over the rows so far. None: no query counts, or a weight isn't finite.
  std::optional<PatternMatch> match() const;
  /// The match's mass; 0 where no query counts, NaN where a weight isn't finite.
  double mass() const;

 private:
  double mass_ = 0.0, chance_ = 0.0;
  std::uint32_t queries_ = 0;
};

/// The earlier keys of a self-attention that hold the same token, for each query; the patterns of HeadMetric need them.
/// One object serves all heads of a text.
class TokenRepeats {
 public:
  /// `ids`: the tokens of the text without padding, the begin token included.
  explicit TokenRepeats(std::span<const std::uint32_t> ids);

  std::uint32_t size() const { return static_cast<std::uint32_t>(ids_.size()); }
  /// The keys j of a query's pattern where D[query, j] = 1, in ascending order. `metric`: one of a pattern.
  std::vector<std::uint32_t> keys(HeadMetric metric, std::uint32_t query) const;
  /// Writes those keys in place of the content of `keys`, whose memory is used again.
  void write_keys(HeadMetric metric, std::uint32_t query, std::vector<std::uint32_t>& keys) const;

 private:
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint32_t> earlier_;  ///< [token] the last equal token before it; kNone: there is none
};

/// The behaviour of a head at the measured queries of a text, by every metric, measure and exclusion.
class HeadMetrics {
 public:
  /// Returns the metric's value; none where it isn't defined: for attention between two texts, where no measured query
  /// has a key of the pattern, and where weights aren't finite. `scoring` is for metrics of a pattern.
  std::optional<double> value(HeadMetric metric, const PatternScoring& scoring = {}) const;
  /// The number that the formula gives in any case: 0 for a share of nothing.
  double number(HeadMetric metric, const PatternScoring& scoring = {}) const;

 private:
  friend class HeadMeter;
  static constexpr std::size_t kScorings = 9;  ///< the mean, and two measures times four exclusions
  static std::size_t index(const PatternScoring& scoring);

  std::array<std::array<double, kScorings>, kPatternMetrics> patterns_ = {};  ///< Abs isn't rounded yet
  std::array<double, kHeadMetrics - kPatternMetrics> means_ = {};             ///< from HeadMetric::Sink on
  std::array<bool, kHeadMetrics> is_defined_ = {};
};

/// Adds up the metrics of one head from rows of its attention, in any order and without ever holding the whole map.
class HeadMeter {
 public:
  /// Self-attention; `repeats` must outlive the meter.
  explicit HeadMeter(const TokenRepeats& repeats) : repeats_(&repeats) {}
  /// Attention between two texts, where neither patterns nor distances are defined.
  HeadMeter() = default;

  /// A row of A. `weights`: [key] without padding, which self-attention counts from the same token on as `query`; `visible`:
  /// how many of the keys the mask lets the query see. A row with a weight that isn't finite makes every metric NaN.
  void add(std::uint32_t query, std::span<const double> weights, std::uint32_t visible);

  std::uint32_t queries() const { return queries_; }
  /// Returns the metrics over the rows so far; without rows none is defined.
  HeadMetrics metrics() const;

 private:
  static constexpr std::size_t kExclusions = 4;  ///< bit 0: the first token, bit 1: the current one
  struct PatternSums {
    std::array<double, kExclusions> on = {};    ///< Σ A∘D
    std::array<double, kExclusions> miss = {};  ///< Σ |A − D| over the cells of D
    PatternMeter mean = {};
  };
  void add_patterns(std::uint32_t query, std::span<const double> weights, double sum);
  double pattern_number(std::size_t pattern, const PatternScoring& scoring) const;

  const TokenRepeats* repeats_ = nullptr;
  std::vector<std::uint32_t> keys_;                                           ///< of one row and pattern
  std::uint32_t queries_ = 0, attending_queries_ = 0, choosing_queries_ = 0;  ///< all, with weights, seeing two keys or more
  std::array<double, kExclusions> all_ = {};                                  ///< Σ A
  std::array<PatternSums, kPatternMetrics> patterns_ = {};
  double sink_ = 0.0, concentration_ = 0.0, relative_entropy_ = 0.0, entropy_ = 0.0, distance_ = 0.0;
};

}  // namespace headlight::evaluation
