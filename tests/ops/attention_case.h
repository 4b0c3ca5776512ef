#pragma once

#include <optional>
#include <vector>

#include "attention/mask.h"
#include "attention/mask_words.h"
#include "core/tensor.h"
#include "model/config.h"
#include "model/positions.h"
#include "ops/attention.h"
#include "ops/kernels.h"
#include "support/deviation.h"
#include "support/random.h"

namespace headlight::test {

/// One masked attention from given Q, K, V, with all parameters.
struct AttentionCase {
  model::AttentionConfig config;
  std::uint32_t batch = 1, queries = 1, keys = 1, layer = 0;
  std::vector<std::uint32_t> key_lengths;  ///< [batch]
  std::vector<std::uint32_t> key_starts;   ///< [batch] padding on the left; empty: none
  std::optional<model::PositionBias> position_bias = {};
  std::uint32_t first_query = 0;  ///< queries before it are left unchanged
  attention::MaskSpec mask;
  /// [head], or empty; the queries of uniform ones are 0.
  std::vector<std::optional<attention::ReplacementPattern>> patterns;
  std::vector<std::uint32_t> query_ids, key_ids;  ///< [batch · token], of expressions; empty: 0
  Tensor q, k, v;                                 ///< [batch, head or KV head, token, d]

  attention::KeyRange keys_of(std::uint32_t item) const;
  attention::ExpressionMap map(std::uint32_t item, std::uint32_t head) const;
  /// Is the cell visible by the mask and by the head's pattern?
  bool is_visible(std::uint32_t item, std::uint32_t head, attention::Cell cell) const;
  /// Returns the score after the score expression; 0 in a head with a uniform pattern.
  double score(std::uint32_t item, std::uint32_t head, attention::Cell cell, double scaled) const;
  /// Replaces patterns of heads at random.
  void replace_patterns(Random& random);
};

/// Random sizes, grouped queries, rule, fill, matrix, painted cells, padding on both sides, patterns, scale, softcap,
/// position bias, merge order and first query; small enough for the naive kernel.
AttentionCase random_attention(Random& random);
/// No mask, random numbers, every key visible.
AttentionCase plain_attention(Random& random, std::uint32_t batch, std::uint32_t heads, std::uint32_t queries,
                              std::uint32_t keys, std::uint32_t d_k, std::uint32_t d_v);
/// Padded, grouped and with ids, under a mask and a score expression that read everything that a map has; `number` of four,
/// of which the last has replaced patterns.
AttentionCase expressed_attention(Random& random, std::uint32_t number);
/// Returns sizes, rule and fill, for messages.
std::string describe(const AttentionCase& one);

/// The results of attention(), or the expected ones.
template <typename Number>
struct AttentionResult {
  std::vector<Number> heads;      ///< [batch, head, query, d_v]
  std::vector<Number> row_max;    ///< [batch, head, query], −inf where nothing is visible
  std::vector<Number> row_sum;    ///< likewise, 0
  bool is_padding_zero = true;    ///< of the merged matrix
  bool is_rest_untouched = true;  ///< are the rows before the first query unchanged?
  std::uint32_t dispatches = 0;
};

/// The case's mask, key ranges and position bias on the device, and attention's inputs.
attention::DeviceMask put_mask(gpu::Stream& stream, const AttentionCase& one);
ops::AttentionInputs attention_inputs(const AttentionCase& one, const ops::DeviceTensor& q, const ops::DeviceTensor& k,
                                      const ops::DeviceTensor& v, const attention::DeviceMask& mask);

AttentionResult<double> expected(const AttentionCase& one);
AttentionResult<float> run(ops::Kernels& kernels, const AttentionCase& one, ops::AttentionKernel kind);

/// The deviation of the heads' outputs and the rows' statistics, from the first query on.
struct AttentionDeviation {
  Deviation heads, row_max, row_sum;
};
AttentionDeviation deviation(const AttentionCase& one, const AttentionResult<float>& result,
                             const AttentionResult<double>& expected);

}  // namespace headlight::test
