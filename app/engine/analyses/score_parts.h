#pragma once

#include "app/engine/analyses/analysis.h"
#include "attribution/frozen_reader.h"

namespace headlight::app {

/// Asks why a query looks at a key: the score of a cell as a sum over pairs of what wrote the query and what wrote the key
/// (attribution/frozen_reader.h), s = c · Σ_u Σ_v q^(u) · k^(v) + what positions add. Exact, with the norms' means and
/// scales held at their real values; of soft-capped scores it is the score before the cap.
struct ScoreQuestion {
  HeadRef head;
  std::uint32_t batch = 0, query = 0, key = 0;

  auto operator<=>(const ScoreQuestion&) const = default;
};

/// A part of a score, and its mean over the keys that the query sees: what all of them share changes no weight.
struct ScorePart {
  double raw = 0.0, mean = 0.0;

  double value(bool is_raw) const { return is_raw ? raw : raw - mean; }
  ScorePart& operator+=(const ScorePart& other) {
    raw += other.raw;
    mean += other.mean;
    return *this;
  }
};

/// The weight that the cell would have without a writer, scales of norms as they are: one softmax of the row.
struct WeightsWithout {
  std::optional<double> query = {};  ///< it is taken out of the query; none: it writes no queries
  std::optional<double> keys = {};   ///< out of all keys of the row
  std::optional<double> both = {};   ///< none where queries and keys are of two texts
};

struct ScoreParts final : AnalysisResult {
  std::vector<attribution::Writer> queries, keys;         ///< in the order in which they write
  std::vector<ScorePart> pairs;                           ///< [query writer, key writer]
  std::vector<std::pair<std::string, ScorePart>> others;  ///< "position bias": parts that no pair of writers has
  ScorePart score;                                        ///< the device's
  bool has_cap = false;                                   ///< the score is the one before the soft cap
  double weight = 0.0;                                    ///< of the softmax, before dropout
  std::uint32_t visible = 0;                              ///< keys that the query sees
  std::map<attribution::Writer, WeightsWithout> without;
  bool has_row = false;  ///< means and weights are known; else raw parts alone

  const ScorePart& pair(std::size_t query, std::size_t key) const { return pairs[query * keys.size() + key]; }
  /// Returns the sum of all parts: the score, up to rounding.
  ScorePart sum() const;
};

/// Tells raw parts first where the row is long. Throws Error in one line also where the mask hides the cell, or an
/// intervention replaces the head's pattern, its queries or its keys.
Task<ScoreParts> analyse(ScoreQuestion question, AnalysisSubject subject);

/// Asks by which tokens a head's part of the query, or of the key, came: A_jt · v_t · W_O of each token t that the head
/// looks at, read as the cell's query or key, times the cell's whole key (less the mean key of the row) or query.
struct ScoreSourcesQuestion : ScoreQuestion {
  HeadRef writer;
  bool is_of_key = false;  ///< the head's part of the key; else of the query, which is less the mean

  auto operator<=>(const ScoreSourcesQuestion&) const = default;
};

struct ScoreSources final : AnalysisResult {
  std::vector<double> tokens;  ///< [key of the writer] padding counted
};

Task<ScoreSources> analyse(ScoreSourcesQuestion question, AnalysisSubject subject);

}  // namespace headlight::app
