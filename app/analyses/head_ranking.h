#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "app/analyses/analysis.h"
#include "app/state/transient.h"
#include "evaluation/pattern_meter.h"

namespace headlight::app {

/// How much each head of one kind of attention looks from some tokens at some tokens: the mean over these queries of the sum
/// of their weights on these keys. The result is a HeadRanking. Heeds `block.kind` and `batch`; `query` and `key` are the
/// first tokens, `options` the last ones.
extern const Analysis kFromTo;

/// How well the attention of each head of one kind matches a pattern. The result is a HeadRanking. Heeds `block.kind`,
/// `batch`, and in `options[0]` the HeadPattern, of which Typed is `formula`.
extern const Analysis kPatternRanking;

struct HeadRanking final : AnalysisResult {
  /// By the queries so far; none: no query has a key of the pattern, or a weight isn't a number.
  std::map<HeadRef, std::optional<evaluation::PatternMatch>> heads;
  std::uint32_t queries = 0;         ///< that are to be compared
  std::uint32_t ranked_queries = 0;  ///< that are compared so far; of a long text fewer in the end
  bool is_sampled = false;           ///< not all of them will be

  /// None: it isn't known, or no query of it counts.
  std::optional<evaluation::PatternMatch> match(const HeadRef& head) const {
    const auto found = heads.find(head);
    return found == heads.end() ? std::nullopt : found->second;
  }
};

/// The question about a range of cells of the selected kind and line.
AnalysisQuery from_to_query(const Selection& selection, const CellRange& range);
/// The question about the chosen pattern, or about `typed` in place of the choices' own text.
AnalysisQuery pattern_query(const Selection& selection, HeadPattern pattern, const std::string& typed);

/// Does it compare tokens of one text, so that it means nothing between two?
bool is_of_one_text(HeadPattern pattern);

}  // namespace headlight::app
