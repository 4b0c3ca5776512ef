#pragma once

#include "capture/captured_mask.h"
#include "capture/numbers.h"

namespace headlight::capture {

/// m, the largest visible score of a row, and l = Σ exp(score − m): the row's largest weight is 1/l.
struct RowScale {
  float max = 0.0F, sum = 0.0F;
};

/// Weights that are computed from captured queries and keys, on the host: row i is softmax_j(qᵢ·kⱼ / √d_k) over the keys
/// that it sees (CapturedMask::visible). Sums are of double precision; a weight is rounded once. Not thread-safe.
class AttentionOf {
 public:
  /// `queries` [batch, heads, n_q, d_k] and `keys` [batch, kv_heads, n_k, d_k]; kv_heads divides heads.
  AttentionOf(std::shared_ptr<const Numbers> queries, std::shared_ptr<const Numbers> keys, CapturedMask mask);

  /// [rows, columns], row after row; and each row's m and l: −∞ and 0 where it sees no key.
  void weights(const Rectangle& cells, float* to, RowScale* scales) const;
  /// qᵢ·kⱼ, times 1/√d_k if `is_scaled`.
  void scores(const Rectangle& cells, bool is_scaled, float* to) const;

 private:
  /// Reads the keys of this matrix unless they are those that were read last.
  void load_keys(std::uint32_t item, std::uint32_t head) const;
  void dot(const float* query, std::uint32_t first, std::uint32_t count, double* to) const;

  std::shared_ptr<const Numbers> queries_, keys_;
  CapturedMask mask_;
  std::uint32_t width_ = 0;  ///< d_k
  double scale_ = 1.0;
  mutable std::vector<float> loaded_;  ///< [key, d_k]
  mutable std::uint32_t loaded_item_ = 0, loaded_head_ = 0;
};

}  // namespace headlight::capture
