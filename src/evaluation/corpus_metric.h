#pragma once

#include "attention/expression.h"
#include "evaluation/head_meter.h"

namespace headlight::evaluation {

inline constexpr std::size_t kMaxOwnMetrics = 16;

/// A metric that a survey measures of every head: one of HeadMetric, or one of the user's own. The user's own is the
/// mean, over the queries that have a cell of its pattern, of their weights on the pattern's cells
/// (PatternMeasure::Mean); cells that the mask hides count with weight 0, and a text without any cell has no value.
struct CorpusMetric {
  HeadMetric metric = {};     ///< where it isn't the user's own
  std::string own_name = {};  ///< empty: it is not
  std::string pattern = {};   ///< a name of own_pattern_names(), or a mask's expression (attention/expression.h)

  CorpusMetric() = default;
  CorpusMetric(HeadMetric of) : metric(of) {}  // NOLINT: each of them is one
  /// The user's own. Throws Error in one line where the name isn't up to 32 letters, digits, '-' and '_', or is taken by a
  /// number that surveys have anyway, or where the pattern is none.
  CorpusMetric(std::string name, std::string of_pattern);

  bool is_own() const { return !own_name.empty(); }
  /// Returns the metric's name in files, tables and the window.
  std::string name() const { return is_own() ? own_name : std::string(metric_name(metric)); }

  bool operator==(const CorpusMetric&) const = default;
};

/// Patterns with a name: "previous", "itself", "first", "next", "duplicate", "induction".
std::vector<std::string> own_pattern_names();

/// The cells of a pattern.
class OwnPattern {
 public:
  /// Throws Error in one line where `pattern` is neither a name nor an expression.
  explicit OwnPattern(const std::string& pattern);

  /// Has each head cells of its own? Only an expression with `layer` or `head` in it.
  bool depends_on_head() const;
  /// [query] the keys, ascending, of a text whose tokens are `ids`. `map`: layer, head and their counts; the rest is filled
  /// in here. Sliders have their starts, types and segments are 0.
  std::vector<std::vector<std::uint32_t>> cells(std::span<const std::uint32_t> ids, const TokenRepeats& repeats,
                                                attention::ExpressionMap map) const;

 private:
  std::optional<HeadMetric> repeats_;  ///< whose pattern it is
  attention::Expression expression_;   ///< of others
};

}  // namespace headlight::evaluation
