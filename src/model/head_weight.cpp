#include "model/head_weight.h"

#include <algorithm>

namespace headlight::model {

HeadWeight head_weight(const AttentionLayer& layer, Projection projection, std::uint32_t head) {
  if (!layer.weights) return {};
  const AttentionConfig& config = layer.config;
  // Several heads may share one KV head.
  const std::uint32_t kv_head = head / std::max(config.heads / std::max(config.kv_head_count(), 1U), 1U);
  switch (projection) {
    case Projection::Query:
      return {.linear = &layer.weights->query, .first = head * config.d_k, .count = config.d_k};
    case Projection::Key:
      return {.linear = &layer.weights->key, .first = kv_head * config.d_k, .count = config.d_k};
    case Projection::Value:
      break;
  }
  return {.linear = &layer.weights->value, .first = kv_head * config.d_v, .count = config.d_v};
}

std::vector<float> read_weight(const Linear& linear, std::uint32_t row, std::uint32_t rows, std::uint32_t column,
                               std::uint32_t columns) {
  const std::uint32_t in = linear.in();
  std::vector<float> outputs(std::size_t{columns} * in);
  linear.weight.read(column, columns, outputs);
  std::vector<float> values(std::size_t{rows} * columns);
  for (std::uint32_t y = 0; y < rows; ++y) {
    for (std::uint32_t x = 0; x < columns; ++x)
      values[std::size_t{y} * columns + x] = outputs[std::size_t{x} * in + row + y];
  }
  return values;
}

}  // namespace headlight::model
