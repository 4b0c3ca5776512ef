#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "app/analyses/analysis.h"
#include "app/state/transient.h"
#include "evaluation/head_meter.h"

namespace headlight::app {

/// How much each head of one kind of attention looks from some tokens at some tokens: the mean over these queries of the sum
/// of their weights on these keys.
struct FromToQuestion {
  model::BlockKind kind = {};
  std::uint32_t batch = 0;
  CellRange range = {};

  auto operator<=>(const FromToQuestion&) const = default;
};
/// How well the attention of each head of one kind matches a pattern.
struct PatternQuestion {
  model::BlockKind kind = {};
  std::uint32_t batch = 0;
  HeadPattern pattern = {};
  std::string typed = {};  ///< a mask's expression, of HeadPattern::Typed

  auto operator<=>(const PatternQuestion&) const = default;
};

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

/// Of a long text tells heads as rows are compared.
Task<HeadRanking> analyse(FromToQuestion question, AnalysisSubject subject);
Task<HeadRanking> analyse(PatternQuestion question, AnalysisSubject subject);

/// The question about a range of cells of the selected kind and line.
FromToQuestion from_to_query(const Selection& selection, const CellRange& range);
/// The question about the chosen pattern, or about `typed` in place of the choices' own text.
PatternQuestion pattern_query(const Selection& selection, HeadPattern pattern, const std::string& typed);

/// Does it compare tokens of one text, so that it means nothing between two?
bool is_of_one_text(HeadPattern pattern);

}  // namespace headlight::app
