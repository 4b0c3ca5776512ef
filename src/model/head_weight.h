#pragma once

#include <cstdint>
#include <vector>

#include "model/network.h"

namespace headlight::model {

enum class Projection : std::uint8_t { Query, Key, Value };

/// Outputs of a linear layer: those of W_Q, W_K or W_V that make the queries, keys or values of one head.
struct HeadWeight {
  const Linear* linear = nullptr;  ///< null: the layer has none, because its input brings Q, K and V
  std::uint32_t first = 0, count = 0;
};
HeadWeight head_weight(const AttentionLayer& layer, Projection projection, std::uint32_t head);

/// A rectangle of the matrix as in X · W, [rows, columns]; linear.weight, [out, in], is its transpose.
std::vector<float> read_weight(const Linear& linear, std::uint32_t row, std::uint32_t rows, std::uint32_t column,
                               std::uint32_t columns);

}  // namespace headlight::model
