#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace headlight::model {

/// Rotary positions (Su et al. 2021): number pairs of a query or key turn by position · inverse frequency. A number pair is
/// (i, i + dimensions/2) of a head, or (2i, 2i + 1) when interleaved; numbers from `dimensions` on stay.
struct Rotary {
  std::uint32_t dimensions = 0;                  ///< even, at most d_k
  bool is_interleaved = false;                   ///< GPT-J; Llama in GGUF files, whose rows are rearranged
  std::vector<double> inverse_frequencies = {};  ///< [dimensions / 2]
  /// LongRoPE (Ding et al. 2024): other frequencies for inputs longer than `original_length`; empty: none.
  std::vector<double> long_inverse_frequencies = {};
  std::uint32_t original_length = 0;
  double attention_factor = 1.0;       ///< cosines and sines are multiplied by it (YaRN, LongRoPE)
  double long_attention_factor = 1.0;  ///< likewise, with the long frequencies

  /// Do inputs of `length` positions turn by the long frequencies?
  bool is_long(std::uint32_t length) const { return !long_inverse_frequencies.empty() && length > original_length; }
  /// [position, dimensions/2, 2] (cos, sin) for positions 0 … length − 1, in double until rounded.
  Tensor angles(std::uint32_t length) const;
  bool operator==(const Rotary&) const = default;
};

/// What is added to the scaled scores of query i and key j because of their distance.
struct PositionBias {
  enum class Kind : std::uint8_t {
    Buckets,  ///< T5: a learned number for each bucket of distances j − i and head (Raffel et al. 2020)
    Slopes,   ///< ALiBi: slope · (j − i) (Press et al. 2022)
  };
  Kind kind = Kind::Buckets;
  Tensor table = {};  ///< Buckets: [buckets, heads]; Slopes: [heads]
  std::uint32_t max_distance = 128;
  bool is_bidirectional = true;  ///< half of the buckets for keys behind the query

  double value(std::uint32_t head, std::int64_t distance) const;  ///< distance = j − i
  std::uint32_t heads() const { return table.axis(kind == Kind::Buckets ? 1 : 0); }
  /// Distances beyond ±reach have the bias of ±reach; 0xffffffff: they never stop growing.
  std::uint32_t reach() const;
};

}  // namespace headlight::model
