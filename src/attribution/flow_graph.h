#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/network.h"

namespace headlight::attribution {

/// The least contribution of a part: so that shares are defined where every part opposes the whole.
inline constexpr double kMinContribution = 1e-5;

/// Returns the contribution of a part [d] to a whole [d], before it is divided by the sum over all parts (Ferrando &
/// Voita 2024, "Information Flow Routes", §2.2): max(‖whole‖₁ − ‖whole − part‖₁, 1e-5).
double contribution(std::span<const float> whole, std::span<const float> part);

/// One token around one layer of the residual stream, each [d_model].
struct TokenRows {
  std::uint32_t token = 0;
  std::vector<float> before;   ///< what the layer reads
  std::vector<float> written;  ///< what its W_O returns, b_O included
  std::vector<float> after;    ///< what the layer leaves
};

/// A term α·v·W_O of a (key, head), as a share of the token's residual stream after the attention.
struct TermShare {
  std::uint32_t key = 0, head = 0;
  double share = 0.0;
};

/// The shares of a token's state after a layer by where they come from. The residual stream and all terms, also those
/// that aren't listed, sum to 1; b_O is no part. MLP and what it is added to sum to 1 on their own.
struct TokenShares {
  std::uint32_t token = 0;
  double residual = 0.0;
  double mlp = 0.0;
  std::vector<TermShare> terms = {};  ///< by key, then by head
};

/// Splits what a layer leaves of some tokens, head by head and key by key, so that no tensor [query, key, head, d_model] is
/// needed. Terms whose length bounds them to the least contribution aren't computed: the result is the same.
class LayerShares {
 public:
  /// `layer` must outlive this. Reads all of W_O.
  LayerShares(const model::AttentionLayer& layer, std::uint32_t keys, std::vector<TokenRows> tokens);

  const std::vector<TokenRows>& tokens() const { return tokens_; }
  /// Adds keys [first, first + values.size() / d_v) of a head: `values` [keys, d_v], `weights` [token][keys] in the order of
  /// tokens(). A weight of 0 is no term.
  void add(std::uint32_t head, std::uint32_t first, std::span<const float> values,
           std::span<const std::span<const float>> weights);
  /// Returns the shares, once every key of every head was added. Lists terms of at least this share.
  std::vector<TokenShares> shares(double least) const;

 private:
  double& raw(std::size_t token, std::size_t head, std::size_t key) { return raw_[(token * heads_ + head) * keys_ + key]; }

  std::size_t heads_, keys_, d_v_, width_;
  std::vector<TokenRows> tokens_;
  std::vector<float> output_;               ///< W_Oᵀ [heads·d_v, d_model]
  std::vector<double> lengths_;             ///< [heads·d_v] ‖row of W_Oᵀ‖₁
  std::vector<std::vector<float>> middle_;  ///< [token][d_model] after the attention
  std::vector<double> raw_;                 ///< [token, head, key] contributions; 0: no term
  std::vector<double> term_;                ///< [d_model] v·W_O of one key
};

/// A head's part of an edge.
struct HeadShare {
  std::uint32_t head = 0;
  double share = 0.0;
};

/// An edge from a token's state before a layer to a token's state after it.
struct FlowEdge {
  std::uint32_t layer = 0;
  std::uint32_t from = 0, to = 0;  ///< tokens: the key, the query
  double share = 0.0;
  bool is_residual = false;           ///< the token's own residual stream; else attention
  std::vector<HeadShare> heads = {};  ///< the largest first; empty where heads were averaged
};

/// The paths that lead into one token's last state, layer by layer.
struct FlowGraph {
  std::uint32_t layers = 0;
  std::uint32_t start = 0;                            ///< the token after the last layer
  std::vector<FlowEdge> edges = {};                   ///< by layer downwards, then by `to` and `from`; what `start` reaches
  std::vector<std::vector<TokenShares>> shares = {};  ///< [layer] of routes: what was split, by token
};

/// Information-flow routes (Ferrando & Voita 2024, §2.3): at every token terms and residual stream below `threshold` are
/// dropped and the others divided by their sum; what is left is followed from `start` down. An edge's share is the sum over
/// its heads. `shares` [layer] must list terms from the threshold on, of every token that is reached.
std::vector<FlowEdge> routes(const std::vector<std::vector<TokenShares>>& shares, std::uint32_t start, double threshold);

/// The tokens before a layer that are reached from those after it with this threshold, in order: whose shares the layer
/// below needs.
std::vector<std::uint32_t> reached_below(const std::vector<TokenShares>& layer, double threshold);

}  // namespace headlight::attribution
