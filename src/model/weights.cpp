#include "model/weights.h"

#include <array>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace headlight::model {
namespace {

/// Throws unless `found` is the shape that `name` must have.
void expect_shape(std::string_view name, const Shape& found, const Shape& expected) {
  if (found != expected) {
    throw Error("{} has shape {} but must be {}: check d_model, heads, d_k and d_v against the weights", name,
                headlight::to_string(found), headlight::to_string(expected));
  }
}

void expect_head_norm(std::string_view name, const std::optional<Norm>& norm, std::uint32_t heads, std::uint32_t d_k) {
  if (!norm) return;
  const bool is_shared = !norm->spans_heads && norm->weight.shape() == Shape{d_k};
  expect_shape(name, norm->weight.shape(), {is_shared ? d_k : heads * d_k});
}

void expect_linear(std::string_view name, const Linear& linear, std::uint32_t out, std::uint32_t in) {
  expect_shape(fmt::format("{} weight", name), linear.weight.shape(), {out, in});
  if (linear.has_bias()) expect_shape(fmt::format("{} bias", name), linear.bias.shape(), {out});
}

/// Rows [first + i·stride, + d) for each head i.
Linear rows_of_heads(const Linear& fused, std::uint32_t heads, std::uint32_t first, std::uint32_t stride, std::uint32_t d) {
  if (stride == d) return fused.rows(first, heads * d);
  std::vector<std::uint32_t> rows;
  for (std::uint32_t head = 0; head < heads; ++head) {
    for (std::uint32_t i = 0; i < d; ++i) rows.push_back(first + head * stride + i);
  }
  return {.weight = fused.weight.gathered(rows), .bias = fused.has_bias() ? fused.bias.gathered(rows) : Parameter()};
}

}  // namespace

AttentionWeights split_fused(const Linear& fused, FusedLayout layout, const AttentionConfig& config) {
  const auto [heads, kv_heads, d_k, d_v] = std::array{config.heads, config.kv_head_count(), config.d_k, config.d_v};
  expect_linear("the fused projection", fused, heads * d_k + kv_heads * (d_k + d_v), config.d_model);
  if (layout == FusedLayout::PerHead) {
    const std::uint32_t group = heads / kv_heads * d_k, stride = group + d_k + d_v;
    return {.query = rows_of_heads(fused, kv_heads, 0, stride, group),
            .key = rows_of_heads(fused, kv_heads, group, stride, d_k),
            .value = rows_of_heads(fused, kv_heads, group + d_k, stride, d_v)};
  }
  if (layout == FusedLayout::PerQuarter) {
    constexpr std::uint32_t kParts = 4;
    if (heads % kParts != 0 || kv_heads != heads) {
      throw Error("a projection fused in quarters has {} heads and {} KV heads", heads, kv_heads);
    }
    const std::uint32_t part = heads / kParts, stride = part * (2 * d_k + d_v);
    return {.query = rows_of_heads(fused, kParts, 0, stride, part * d_k),
            .key = rows_of_heads(fused, kParts, part * (d_k + d_v), stride, part * d_k),
            .value = rows_of_heads(fused, kParts, part * d_k, stride, part * d_v)};
  }
  return {.query = rows_of_heads(fused, heads, 0, d_k, d_k),
          .key = rows_of_heads(fused, kv_heads, heads * d_k, d_k, d_k),
          .value = rows_of_heads(fused, kv_heads, (heads + kv_heads) * d_k, d_v, d_v)};
}

AttentionWeights from_per_head(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionConfig& config) {
  // [head][d] is the canonical order of rows, so flattening the first two axes is enough.
  const auto flatten = [&](std::string_view name, const Tensor& weight, std::uint32_t d) {
    expect_shape(name, weight.shape, {config.heads, d, config.d_model});
    return Linear{.weight = Tensor(Shape{config.heads * d, config.d_model}, weight.values)};
  };
  return {.query = flatten("the per-head query weight", query, config.d_k),
          .key = flatten("the per-head key weight", key, config.d_k),
          .value = flatten("the per-head value weight", value, config.d_v)};
}

void check_shapes(const AttentionWeights& weights, const AttentionConfig& config) {
  expect_linear("the query projection", weights.query, config.heads * config.d_k, config.d_model);
  expect_linear("the key projection", weights.key, config.kv_head_count() * config.d_k, config.d_model);
  expect_linear("the value projection", weights.value, config.kv_head_count() * config.d_v, config.d_model);
  for (const std::optional<Linear>& of_distances : {weights.position_query, weights.position_key}) {
    if (of_distances) expect_linear("a projection of distances", *of_distances, config.heads * config.d_k, config.d_model);
  }
  if (weights.output) {
    const std::uint32_t out = weights.output->weight.is_empty() ? 0 : weights.output->out();
    expect_linear("the output projection", *weights.output, out, config.heads * config.d_v);
    if (out == 0) throw Error("the output projection has no rows: give it at least one, or leave it out");
  }
  expect_head_norm("the query norm", weights.query_norm, config.heads, config.d_k);
  expect_head_norm("the key norm", weights.key_norm, config.kv_head_count(), config.d_k);
}

}  // namespace headlight::model
