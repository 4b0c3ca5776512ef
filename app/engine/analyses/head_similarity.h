#pragma once

#include "app/engine/analyses/analysis.h"
#include "app/engine/analyses/head_metrics.h"
#include "attention/mask.h"

namespace headlight::app {

/// Asks how alike the attention of all heads of one kind is in a batch item (evaluation/head_divergence.h). Pairs are many,
/// so in a long text or a large model only some queries at equal distances are compared.
struct SimilarityQuestion {
  model::BlockKind kind = {};
  std::uint32_t batch = 0;

  auto operator<=>(const SimilarityQuestion&) const = default;
};

struct HeadSimilarity final : AnalysisResult {
  std::vector<HeadRef> heads;          ///< by layer and head
  std::vector<float> divergences;      ///< [head, head], 0 … 1 bits
  std::vector<std::uint32_t> order;    ///< of `heads`, similar ones side by side; empty where a weight isn't finite
  std::uint32_t queries = 0;           ///< of the text, without padding
  std::uint32_t compared_queries = 0;  ///< fewer where there is too much to compare

  float between(std::size_t a, std::size_t b) const { return divergences[a * heads.size() + b]; }
};

Task<HeadSimilarity> analyse(SimilarityQuestion question, AnalysisSubject subject);

inline constexpr std::uint32_t kMaxComparedHeads = 1'024;
/// Cells of pairs of heads that are compared: some seconds of a processor.
inline constexpr std::size_t kMaxComparedCells = std::size_t{1} << 27;
/// Returns the queries that are compared: all of them, or as many as the cells allow, in up to 16 strips at equal distances
/// of which the last ends with the text.
std::vector<RowStrip> compared_rows(attention::KeyRange queries, std::uint32_t keys, std::uint32_t heads);

/// Returns the question about the selected kind and line.
SimilarityQuestion similarity_query(const Selection& selection);

}  // namespace headlight::app
