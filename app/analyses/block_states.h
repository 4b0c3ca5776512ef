#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/analyses/analysis.h"
#include "model/weights.h"

namespace headlight::app {

/// The residual stream through one attention block and the feed-forward behind it. Heeds the query's `block`, `batch` and
/// `query`: the first token of the window that is read.
extern const Analysis kBlockStates;

/// Matrices [tokens, width] of consecutive tokens from `first` on, as the block reads and writes them:
///   y = after(before + attention),  attention = inside(Output);  next = after_ff(y + feed_forward)
/// with the norms that the layer has (model::BranchNorms).
struct BlockStates final : AnalysisResult {
  std::uint32_t first = 0, tokens = 0, width = 0;
  std::vector<float> before;           ///< the residual stream that the block reads
  std::vector<float> attention;        ///< what attention adds to it, behind the norm inside of its branch
  std::vector<float> after_attention;  ///< y
  std::vector<float> feed_forward;     ///< what the feed-forward adds; empty: `no_feed_forward` says why
  std::vector<float> next;             ///< behind the whole layer; empty where another block of the layer follows
  std::string no_feed_forward;         ///< one sentence
  /// Largest magnitudes of before, after_attention, feed_forward and next.
  std::array<float, 4> reaches = {};
};

/// Tokens of a window of states: a quarter of a million numbers a matrix.
std::uint32_t most_state_tokens(std::uint32_t width);

/// LayerNorm or RMSNorm of rows [width], in double precision (model::Norm has the formulas).
std::vector<float> apply_norm(const model::Norm& norm, std::span<const float> rows, std::uint32_t width);

}  // namespace headlight::app
