#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/network.h"

namespace headlight::attribution {

/// The least contribution of a part: so that shares are defined where every part opposes the whole.
inline constexpr double kLeastContribution = 1e-5;

/// How much of a whole [d] a part [d] is, before it is divided by the sum over all parts (Ferrando & Voita 2024,
/// "Information Flow Routes", §2.2): max(‖whole‖₁ − ‖whole − part‖₁, 1e-5).
double contribution(std::span<const float> whole, std::span<const float> part);

/// One token around one layer of the residual stream, each [d_model].
struct TokenRows {
  std::uint32_t token = 0;
  std::vector<float> before;   ///< what the layer reads
  std::vector<float> written;  ///< what its attention adds, b_O included
  std::vector<float> after;    ///< what the layer leaves
};

/// A term α·v·W_O of a (key, head), as a share of the token's residual stream behind the attention.
struct TermShare {
  std::uint32_t key = 0, head = 0;
  double share = 0.0;
};

/// Where a token's state after a layer comes from. The residual stream and all terms, also those that aren't listed, sum to
/// 1; b_O is no part. MLP and what it is added to sum to 1 on their own.
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
  /// When every key of every head was added. Lists terms of at least this share.
  std::vector<TokenShares> shares(double least) const;

 private:
  double& raw(std::size_t token, std::size_t head, std::size_t key) { return raw_[(token * heads_ + head) * keys_ + key]; }

  std::size_t heads_, keys_, d_v_, width_;
  std::vector<TokenRows> tokens_;
  std::vector<float> output_;               ///< W_Oᵀ [heads·d_v, d_model]
  std::vector<double> lengths_;             ///< [heads·d_v] ‖row of W_Oᵀ‖₁
  std::vector<std::vector<float>> middle_;  ///< [token][d_model] behind the attention
  std::vector<double> raw_;                 ///< [token, head, key] contributions; 0: no term
  std::vector<double> term_;                ///< [d_model] v·W_O of one key
};

}  // namespace headlight::attribution
