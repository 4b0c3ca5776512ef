#pragma once

#include "app/engine/analyses/analysis.h"
#include "app/state/heads_settings.h"
#include "app/state/transient.h"
#include "attention/expression.h"
#include "attention/mask.h"
#include "evaluation/head_meter.h"

namespace headlight::app {

/// Asks how much each head of one kind of attention attends from some tokens to some tokens: the mean over these queries of
/// the sum of their weights on these keys.
struct FromToQuestion {
  model::BlockKind kind = {};
  std::uint32_t batch = 0;
  CellRange range = {};

  auto operator<=>(const FromToQuestion&) const = default;
};
/// Asks how well the attention of each head of one kind matches a pattern.
struct PatternQuestion {
  model::BlockKind kind = {};
  std::uint32_t batch = 0;
  HeadPattern pattern = {};
  std::string typed = {};  ///< a mask's expression, for HeadPattern::Typed

  auto operator<=>(const PatternQuestion&) const = default;
};

struct HeadRanking final : AnalysisResult {
  /// Each head's match over the queries that are ranked so far; none: no query has a key of the pattern, or a weight isn't a
  /// number.
  std::map<HeadRef, std::optional<evaluation::PatternMatch>> heads;
  std::uint32_t queries = 0;         ///< that are to be compared
  std::uint32_t ranked_queries = 0;  ///< that are compared so far; of a long text fewer in the end
  bool is_sampled = false;           ///< not all of them will be

  /// Returns the head's match; none: it isn't known, or no query of it counts.
  std::optional<evaluation::PatternMatch> match(const HeadRef& head) const {
    const auto found = heads.find(head);
    return found == heads.end() ? std::nullopt : found->second;
  }
};

/// Answers the question. Heads of a long text are reported while rows are compared.
Task<HeadRanking> analyse(FromToQuestion question, AnalysisSubject subject);
Task<HeadRanking> analyse(PatternQuestion question, AnalysisSubject subject);

/// Returns the question about a range of cells of the selected kind and line.
FromToQuestion from_to_query(const Selection& selection, const CellRange& range);
/// Returns the question about the chosen pattern, or about `typed` in place of the choices' own text.
PatternQuestion pattern_query(const Selection& selection, HeadPattern pattern, const std::string& typed);

/// Does it compare tokens of one text, so that it means nothing between two?
bool is_of_one_text(HeadPattern pattern);

/// The cells of a pattern that heads are ranked by, some rows at a time: nothing of [queries, keys] is kept. Computed on the
/// host, a typed one in double precision.
class PatternRows {
 public:
  /// Prepares the pattern for the question's line. Throws Error in one line where the pattern means nothing for this kind of
  /// attention, or where the text that the user typed is no expression.
  PatternRows(const PatternQuestion& question, const AnalysisSubject& subject, attention::KeyRange queries,
              attention::KeyRange keys);
  // mask tokens refer to the mask
  PatternRows(const PatternRows&) = delete;
  PatternRows& operator=(const PatternRows&) = delete;

  /// Has each head a pattern of its own? Only an expression with `head` or `layer` in it.
  bool depends_on_head() const;
  /// Returns [row, key], 1 where the pattern has the cell: rows [first, first + count) of the map, keys of the line without
  /// padding.
  std::vector<std::uint8_t> rows(const HeadRef& head, std::uint32_t first, std::uint32_t count) const;

 private:
  void write_row(std::uint32_t query, std::vector<std::uint8_t>& row_by_row) const;

  AnalysisSubject subject_;  ///< keeps network and input
  std::uint32_t batch_;
  HeadPattern pattern_;
  attention::KeyRange queries_, keys_;
  std::optional<evaluation::TokenRepeats> repeats_;  ///< of self-attention
  attention::MaskSpec mask_;                         ///< with the typed expression
  std::optional<inference::MaskTokens> tokens_;      ///< of an expression
};

}  // namespace headlight::app
