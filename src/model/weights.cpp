#include "model/weights.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"

namespace headlight::model {
namespace {

/// Throws unless `tensor` has the shape that `name` must have.
void expect_shape(std::string_view name, const Tensor& tensor, const Shape& expected) {
  if (tensor.shape != expected || tensor.values.size() != element_count(expected)) {
    throw Error("{} has shape {} but must be {}: check d_model, heads, d_k and d_v against the weights", name,
                headlight::to_string(tensor.shape), headlight::to_string(expected));
  }
}

void expect_linear(std::string_view name, const Linear& linear, std::uint32_t out, std::uint32_t in) {
  expect_shape(fmt::format("{} weight", name), linear.weight, {out, in});
  if (linear.has_bias()) expect_shape(fmt::format("{} bias", name), linear.bias, {out});
}

Linear empty_linear(std::uint32_t out, std::uint32_t in, bool bias) {
  return {.weight = Tensor(Shape{out, in}), .bias = bias ? Tensor(Shape{out}) : Tensor()};
}

/// Copies `count` rows of `from` (weight and bias) to row `to_row` of `to`.
void copy_rows(const Linear& from, std::uint32_t from_row, Linear& to, std::uint32_t to_row, std::uint32_t count) {
  const std::size_t width = from.in();
  std::copy_n(from.weight.values.data() + from_row * width, count * width, to.weight.values.data() + to_row * width);
  if (from.has_bias()) std::copy_n(from.bias.values.data() + from_row, count, to.bias.values.data() + to_row);
}

}  // namespace

AttentionWeights split_fused(const Linear& fused, FusedLayout layout, const AttentionConfig& config) {
  const auto [heads, d_k, d_v] = std::array{config.heads, config.d_k, config.d_v};
  expect_linear("the fused projection", fused, heads * (2 * d_k + d_v), config.d_model);
  AttentionWeights split{.query = empty_linear(heads * d_k, config.d_model, fused.has_bias()),
                         .key = empty_linear(heads * d_k, config.d_model, fused.has_bias()),
                         .value = empty_linear(heads * d_v, config.d_model, fused.has_bias()),
                         .output = std::nullopt};
  for (std::uint32_t head = 0; head < heads; ++head) {
    const bool per_head = layout == FusedLayout::PerHead;
    const std::uint32_t start = head * (2 * d_k + d_v);
    copy_rows(fused, per_head ? start : head * d_k, split.query, head * d_k, d_k);
    copy_rows(fused, per_head ? start + d_k : heads * d_k + head * d_k, split.key, head * d_k, d_k);
    copy_rows(fused, per_head ? start + 2 * d_k : 2 * heads * d_k + head * d_v, split.value, head * d_v, d_v);
  }
  return split;
}

AttentionWeights from_per_head(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionConfig& config) {
  // [head][d] rows are exactly the canonical order, so the per-head tensors only lose their first axis.
  const auto flatten = [&](std::string_view name, const Tensor& weight, std::uint32_t d) {
    expect_shape(name, weight, {config.heads, d, config.d_model});
    return Linear{.weight = Tensor(Shape{config.heads * d, config.d_model}, weight.values), .bias = {}};
  };
  return {.query = flatten("the per-head query weight", query, config.d_k),
          .key = flatten("the per-head key weight", key, config.d_k),
          .value = flatten("the per-head value weight", value, config.d_v),
          .output = std::nullopt};
}

void check_shapes(const AttentionWeights& weights, const AttentionConfig& config) {
  expect_linear("the query projection", weights.query, config.heads * config.d_k, config.d_model);
  expect_linear("the key projection", weights.key, config.heads * config.d_k, config.d_model);
  expect_linear("the value projection", weights.value, config.heads * config.d_v, config.d_model);
  if (weights.output) {
    const std::uint32_t out = weights.output->weight.shape.empty() ? 0 : weights.output->weight.shape.front();
    expect_linear("the output projection", *weights.output, out, config.heads * config.d_v);
    if (out == 0) throw Error("the output projection has no rows: give it at least one, or leave it out");
  }
}

}  // namespace headlight::model
