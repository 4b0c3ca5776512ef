#pragma once

#include <algorithm>

#include "attention/mask.h"
#include "capture/numbers.h"
#include "model/config.h"

namespace headlight::capture {

/// The mask of a captured block: the rows and cells of real tokens, and the keys that a row may see according to the
/// file.
struct CapturedMask {
  bool is_causal = false;
  std::uint32_t window = 0;  ///< a query sees keys with |query − key| < window; 0: there is none
  /// Rows before it were not captured: their tokens were in a cache.
  std::uint32_t first_row = 0;
  std::vector<attention::KeyRange> queries = {}, keys = {};  ///< [batch] tokens that are no padding

  /// Keys [begin, end) that a query may see; empty where its row wasn't captured.
  attention::KeyRange visible(std::uint32_t item, std::uint32_t query) const {
    const auto [first, all] = keys[item];
    if (query < first_row) return {first, first};
    const std::uint32_t everywhere = all + query + 1, reach = window == 0 ? everywhere : std::min(window, everywhere);
    const std::uint32_t begin = std::max(first, query + 1 - std::min(query + 1, reach));
    const std::uint32_t end = std::min(all, query + (is_causal ? 1 : reach));
    return {begin, std::max(begin, end)};
  }
  /// Was the row captured, and is it a real token's?
  bool has_row(std::uint32_t item, std::uint32_t query) const { return query >= first_row && queries[item].holds(query); }
};

/// m, the largest visible score of a row, and l = Σ exp(score − m): the row's largest weight is 1/l.
struct RowScale {
  float max = 0.0F, sum = 0.0F;
};

/// The way in which a block's queries and keys become scores, as the file states it.
struct CapturedScore {
  model::Scale scale = {};
  float softcap = 0.0F;  ///< scaled scores s become softcap · tanh(s / softcap); 0: off
  /// [batch or 1, heads or 1, n_q, n_k], added to scaled scores; −∞ hides a key. May be null.
  std::shared_ptr<const Numbers> bias = {};
  /// [1, heads, 1, 1], the score of a sink: a key without a value in every row's sum (gpt-oss). May be null.
  std::shared_ptr<const Numbers> sinks = {};

  /// Only the host computes with a bias or with sinks.
  bool needs_host() const { return bias || sinks; }
};

/// Weights that are computed from captured queries and keys, on the host: row i is softmax_j(cap(qᵢ·kⱼ · scale) + biasᵢⱼ)
/// over the keys that it sees (CapturedMask::visible), and a head's sink. Sums are of double precision; a weight is rounded
/// once. Not thread-safe.
class AttentionOf {
 public:
  /// `queries` [batch, heads, n_q, d_k] and `keys` [batch, kv_heads, n_k, d_k]; kv_heads divides heads.
  AttentionOf(std::shared_ptr<const Numbers> queries, std::shared_ptr<const Numbers> keys, CapturedMask mask,
              CapturedScore score);

  /// [rows, columns], row after row; and each row's m and l: −∞ and 0 where it sees no key.
  void weights(const Rectangle& cells, float* to, RowScale* scales) const;
  /// qᵢ·kⱼ, with `is_scaled` scaled and capped and with those biases that hide no key.
  void scores(const Rectangle& cells, bool is_scaled, float* to) const;
  /// Does a bias of −∞ hide the key, column by column? Of one row. Empty: there is no bias.
  std::vector<std::uint8_t> hidden_keys(const Rectangle& row) const;

 private:
  /// Reads the keys of this matrix unless they are those that were read last.
  void load_keys(std::uint32_t item, std::uint32_t head) const;
  void dot(const float* query, std::uint32_t first, std::uint32_t count, double* to) const;
  double scaled(double score) const;
  /// Returns the biases of a row's keys [first, first + count); empty where the block has none.
  std::vector<float> biases(const Rectangle& row, std::uint32_t first, std::uint32_t count) const;

  std::shared_ptr<const Numbers> queries_, keys_;
  CapturedMask mask_;
  CapturedScore score_;
  std::uint32_t width_ = 0;  ///< d_k
  double factor_ = 1.0;
  mutable std::vector<float> loaded_;  ///< [key, d_k]
  mutable std::uint32_t loaded_item_ = 0, loaded_head_ = 0;
};

}  // namespace headlight::capture
