#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace headlight::model {

/// Rotary position embedding (Su et al. 2021): rotates pairs of a query's or key's components by position · inverse
/// frequency. Pairs are (i, i + dimensions/2) of a head, or (2i, 2i + 1) when interleaved; components from `dimensions` on
/// are kept.
struct Rotary {
  std::uint32_t dimensions = 0;                  ///< even, at most d_k
  bool is_interleaved = false;                   ///< GPT-J; Llama in GGUF files, whose rows are rearranged
  std::vector<double> inverse_frequencies = {};  ///< [dimensions / 2]
  /// LongRoPE (Ding et al. 2024): other frequencies for lines longer than `original_length`; empty: none.
  std::vector<double> long_inverse_frequencies = {};
  std::uint32_t original_length = 0;
  /// Dynamic NTK scaling: beyond `original_length` the base grows with the line's length; 0: it doesn't.
  double dynamic_factor = 0.0, base = 0.0;
  double attention_factor = 1.0;       ///< cosines and sines are multiplied by it (YaRN, LongRoPE)
  double long_attention_factor = 1.0;  ///< likewise, with the long frequencies

  /// Lines of `length` positions with the same regime have the same frequencies. transformers asks this of a batch's longest
  /// line.
  std::uint32_t regime(std::uint32_t length) const;
  std::vector<double> frequencies(std::uint32_t length) const;
  /// Of cosines and sines.
  double factor(std::uint32_t length) const { return is_long(length) ? long_attention_factor : attention_factor; }
  /// [position, dimensions/2, 2] (cos, sin) for positions 0 … count − 1 of such a line, in double until rounded.
  Tensor angles(std::uint32_t count, std::uint32_t length) const;
  bool is_long(std::uint32_t length) const { return !long_inverse_frequencies.empty() && length > original_length; }
  bool operator==(const Rotary&) const = default;
};

/// A bias added to the scaled score of query i and key j, by their distance.
struct PositionBias {
  enum class Kind : std::uint8_t {
    Buckets,  ///< T5: a learned bias for each bucket of distances j − i and head (Raffel et al. 2020)
    Slopes,   ///< ALiBi: slope · (j − i) (Press et al. 2022)
    /// Falcon's ALiBi: factor · slope · j, for the j-th key of a line, which softmax takes as slope · (j − i); but slope, j
    /// and their product are rounded to bfloat16.
    KeySlopes,
  };
  Kind kind = Kind::Buckets;
  Tensor table = {};  ///< Buckets: [buckets, heads]; the others: [heads]
  float factor = 1.0f;
  std::uint32_t max_distance = 128;
  bool is_bidirectional = true;  ///< half of the buckets are for keys after the query

  double value(std::uint32_t head, std::int64_t distance) const;  ///< distance = j − i; not of KeySlopes
  /// Of query token i and key token j of a line whose first token is `start`.
  double of_cell(std::uint32_t head, std::uint32_t i, std::uint32_t j, std::uint32_t start) const;
  std::uint32_t heads() const { return table.axis(kind == Kind::Buckets ? 1 : 0); }
  /// Distances beyond ±reach have the bias of ±reach; 0xffffffff: no limit.
  std::uint32_t reach() const;
};

/// Vectors r of distances that queries and keys are multiplied with beside each other (DeBERTa, He et al. 2021; Shaw et al.
/// 2018, Huang et al. 2020). For query i and key j of a head, before the scale:
///   q_i·k_j + q_i·key(r) + k_j·query(r),  r of the distance i − j, with the terms that the layer's config names
/// where key(r) and query(r) are the layer's own projections of r (DeBERTa; AttentionWeights), or r itself in every head
/// (BERT).
struct DistanceVectors {
  Tensor table = {};          ///< [rows, d_model] where they are projected, else [rows, d_k]
  std::uint32_t origin = 0;   ///< row of distance 0; further ones end at the table's first and last row
  std::uint32_t buckets = 0;  ///< up to buckets / 2 distances have a row each, then logarithmic up to max_distance; 0: all
  std::uint32_t max_distance = 0;  ///< of buckets
  bool is_projected = false;

  std::uint32_t row(std::int64_t distance) const;  ///< distance = i − j
};

/// The positional encoding of "Attention Is All You Need", §3.5, [length, d_model]:
///   positions[p, 2i] = sin(p / 10000^(2i/d_model)),  positions[p, 2i + 1] = cos(p / 10000^(2i/d_model))
/// computed in double precision. An odd d_model ends with a sine.
Tensor sinusoidal_positions(std::uint32_t length, std::uint32_t d_model);

}  // namespace headlight::model
