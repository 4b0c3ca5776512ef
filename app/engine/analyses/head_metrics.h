#pragma once

#include "app/engine/analyses/analysis.h"
#include "app/state/state.h"
#include "attention/mask.h"
#include "evaluation/head_meter.h"

namespace headlight::app {

/// Asks for the metrics of every head of one kind of attention in a batch item (evaluation/head_metric.h). Maps are read in
/// strips of rows, layer by layer; numbers of a short text are reported all at once, so that those of the previous run stay
/// until those of the new one are complete.
struct HeadMetricsQuestion {
  model::BlockKind kind = {};
  std::uint32_t batch = 0;

  auto operator<=>(const HeadMetricsQuestion&) const = default;
};

struct HeadMetricsFound final : AnalysisResult {
  std::map<HeadRef, evaluation::HeadMetrics> heads;  ///< those that are measured
  std::size_t all_heads = 0;                         ///< of this kind of attention
  std::uint32_t queries = 0;                         ///< of the text, without padding
  std::uint32_t measured_queries = 0;                ///< fewer for a long text

  bool is_complete() const { return heads.size() == all_heads; }
  /// Returns the head's metrics; null where they aren't measured yet.
  const evaluation::HeadMetrics* find(const HeadRef& head) const {
    const auto found = heads.find(head);
    return found == heads.end() ? nullptr : &found->second;
  }
};

Task<HeadMetricsFound> analyse(HeadMetricsQuestion question, AnalysisSubject subject);

/// Rows of a map that are read together.
struct RowStrip {
  std::uint32_t first = 0, count = 0;

  bool operator==(const RowStrip&) const = default;
};
/// The most cells of one map that are measured: all of 2,048 × 2,048.
inline constexpr std::size_t kMaxMeasuredCells = std::size_t{2'048} * 2'048;
/// Returns the queries that are measured: all of them, or where their map has more than kMaxMeasuredCells cells, 32 strips
/// at equal distances with about as many cells together.
std::vector<RowStrip> measured_rows(attention::KeyRange queries, std::uint32_t keys);

/// Strips of `most` rows each at most, at least one.
std::vector<RowStrip> in_parts(const std::vector<RowStrip>& strips, std::size_t most);
/// All heads of a kind of attention, layer by layer, and the tokens of a line that they look from and to, without padding.
struct LineMaps {
  std::vector<HeadRef> heads;
  inference::BlockShape shape;
  attention::KeyRange queries, keys;

  std::uint32_t columns() const { return keys.end - keys.begin; }
};
/// Throws Error where the run has no such attention, or no such line.
LineMaps maps_of(model::BlockKind kind, std::uint32_t batch, const AnalysisSubject& subject);

/// Returns the request for a head's weights in these rows.
attention::TileRequest weights_of(const HeadRef& head, std::uint32_t batch, const RowStrip& rows, attention::KeyRange keys);

/// Returns the tokens of a batch item without padding, as numbers that are equal where tokens are: their ids, or numbers of
/// their texts where the input has vectors instead of ids; `count` different ones where it has neither.
std::vector<std::uint32_t> token_numbers(const model::TokenBatch& tokens, std::uint32_t item, std::uint32_t count);

/// Returns all heads of a kind, layer by layer.
std::vector<HeadRef> heads_of_kind(const BlockShapes& shapes, model::BlockKind kind);

/// Returns the heads of a kind that the choices show, in their order. Heads that aren't measured yet come last and pass no
/// filter by a metric; heads whose metric isn't defined come last as well. `found`: null while nothing is measured.
std::vector<HeadRef> listed_heads(const BlockShapes& shapes, model::BlockKind kind, const HeadChoices& choices,
                                  const HeadMetricsFound* found);
/// Filters and orders the given heads likewise.
std::vector<HeadRef> listed_heads(std::vector<HeadRef> heads, const HeadChoices& choices, const HeadMetricsFound* found);

/// Orders heads by a number, the largest first or last; heads without one come last in both orders.
void order_heads(std::vector<HeadRef>& heads, bool lowest_first,
                 const std::function<std::optional<double>(const HeadRef&)>& value);

/// Returns "L3 H1  prev 0.98": the head and the metric by which heads are ordered, else its strongest metric, where its
/// badge is shown.
std::string head_caption(const HeadRef& head, const evaluation::HeadMetrics* metrics, const HeadChoices& choices);

}  // namespace headlight::app
