#include "model/weights.h"

#include <doctest/doctest.h>

#include <numeric>

#include "core/error.h"
#include "model/positions.h"
#include "support/error_message.h"

namespace weights_test {

using namespace headlight;
using namespace headlight::model;
using headlight::test::error_message;

namespace {

constexpr AttentionConfig kConfig{.d_model = 2, .heads = 2, .d_k = 1, .d_v = 2};

/// Row r is filled with r, and its bias is r, so that every row shows its origin.
Linear numbered(std::uint32_t rows, std::uint32_t in) {
  Tensor weight(Shape{rows, in}), bias(Shape{rows});
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t i = 0; i < in; ++i) weight.at({row, i}) = static_cast<float>(row);
    bias.at({row}) = static_cast<float>(row);
  }
  return {.weight = std::move(weight), .bias = std::move(bias)};
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a fused weight splits into the rows of its layout") {
    using Rows = std::vector<float>;
    const AttentionWeights flat = split_fused(numbered(8, 2), FusedLayout::QueryKeyValue, kConfig);
    CHECK(flat.query.bias.tensor().values == Rows{0, 1});
    CHECK(flat.key.bias.tensor().values == Rows{2, 3});
    CHECK(flat.value.bias.tensor().values == Rows{4, 5, 6, 7});
    CHECK(flat.value.weight.tensor().values == Rows{4, 4, 5, 5, 6, 6, 7, 7});

    const AttentionWeights per_head = split_fused(numbered(8, 2), FusedLayout::PerHead, kConfig);
    CHECK(per_head.query.bias.tensor().values == Rows{0, 4});
    CHECK(per_head.key.bias.tensor().values == Rows{1, 5});
    CHECK(per_head.value.bias.tensor().values == Rows{2, 3, 6, 7});
    CHECK(per_head.key.weight.tensor().values == Rows{1, 1, 5, 5});
    CHECK_NOTHROW(check_shapes(per_head, kConfig));

    // Two query heads for each of two KV heads: [q q | k | v v] twice.
    const AttentionConfig grouped_config{.d_model = 2, .heads = 4, .d_k = 1, .d_v = 2, .kv_heads = 2};
    const AttentionWeights grouped = split_fused(numbered(10, 2), FusedLayout::PerHead, grouped_config);
    CHECK(grouped.query.bias.tensor().values == Rows{0, 1, 5, 6});
    CHECK(grouped.key.bias.tensor().values == Rows{2, 7});
    CHECK(grouped.value.bias.tensor().values == Rows{3, 4, 8, 9});
    CHECK_NOTHROW(check_shapes(grouped, grouped_config));

    // Four parts of two heads: [q q | v v | k k].
    const AttentionConfig eight{.d_model = 2, .heads = 8, .d_k = 1, .d_v = 1};
    const AttentionWeights quarters = split_fused(numbered(24, 2), FusedLayout::PerQuarter, eight);
    CHECK(quarters.query.bias.tensor().values == Rows{0, 1, 6, 7, 12, 13, 18, 19});
    CHECK(quarters.value.bias.tensor().values == Rows{2, 3, 8, 9, 14, 15, 20, 21});
    CHECK(quarters.key.bias.tensor().values == Rows{4, 5, 10, 11, 16, 17, 22, 23});
    CHECK(error_message([&] { split_fused(numbered(8, 2), FusedLayout::PerQuarter, kConfig); }) ==
          "a projection fused in quarters has 2 heads and 2 KV heads");

    Linear bare = numbered(8, 2);
    bare.bias = {};
    CHECK_FALSE(split_fused(bare, FusedLayout::PerHead, kConfig).key.has_bias());
  }

  TEST_CASE("one weight per head is the separate layout with one more axis") {
    Tensor query(Shape{2, 1, 2}), key(Shape{2, 1, 2}), value(Shape{2, 2, 2});
    std::iota(value.values.begin(), value.values.end(), 0.0f);
    const AttentionWeights weights = from_per_head(query, key, value, kConfig);
    CHECK(weights.value.weight.shape() == Shape{4, 2});
    CHECK(weights.value.weight.tensor().values == value.values);
    CHECK_FALSE(weights.output.has_value());
    CHECK_NOTHROW(check_shapes(weights, kConfig));
    CHECK_THROWS_WITH_AS(
        from_per_head(query, value, value, kConfig),
        "the per-head key weight has shape [2, 2, 2] but must be [2, 1, 2]: check d_model, heads, d_k and d_v "
        "against the weights",
        Error);
  }

  TEST_CASE("norms of queries and keys are shared by heads, their own, or span them") {
    AttentionWeights weights = split_fused(numbered(8, 2), FusedLayout::PerHead, kConfig);
    const auto complaint = [&](std::uint32_t width, bool spans) {
      weights.query_norm = Norm{.weight = Tensor(Shape{width}, std::vector<float>(width, 1.0f)), .spans_heads = spans};
      return error_message([&] { check_shapes(weights, kConfig); });
    };
    CHECK(complaint(1, false).empty());
    CHECK(complaint(2, false).empty());
    CHECK(complaint(2, true).empty());
    CHECK(complaint(1, true).starts_with("the query norm has shape [1] but must be [2]"));
    CHECK(complaint(3, false).starts_with("the query norm has shape [3] but must be [2]"));
  }

  TEST_CASE("a weight of the wrong shape is named with both shapes") {
    CHECK_THROWS_WITH_AS(
        split_fused(numbered(7, 2), FusedLayout::PerHead, kConfig),
        "the fused projection weight has shape [7, 2] but must be [8, 2]: check d_model, heads, d_k and d_v "
        "against the weights",
        Error);
    AttentionWeights weights = split_fused(numbered(8, 2), FusedLayout::PerHead, kConfig);
    weights.output = numbered(5, 4);
    CHECK_NOTHROW(check_shapes(weights, kConfig));
    weights.output = numbered(5, 3);
    CHECK_THROWS_AS(check_shapes(weights, kConfig), Error);
    weights.output = std::nullopt;
    weights.key.bias = Tensor(Shape{3});
    CHECK_THROWS_WITH_AS(
        check_shapes(weights, kConfig),
        "the key projection bias has shape [3] but must be [2]: check d_model, heads, d_k and d_v against the "
        "weights",
        Error);
  }

  TEST_CASE("the scale is a number") {
    CHECK(Scale{}.factor(4) == 0.5f);
    CHECK(Scale{.kind = Scale::Kind::None}.factor(4) == 1.0f);
    CHECK(Scale{.kind = Scale::Kind::Value, .value = 3.0f}.factor(4) == 3.0f);
  }

  TEST_CASE("sinusoidal positions alternate sine and cosine, also at an odd width") {
    const Tensor positions = sinusoidal_positions(3, 5);
    CHECK(positions.shape == Shape{3, 5});
    CHECK(std::vector<float>(positions.values.begin(), positions.values.begin() + 5) == std::vector<float>{0, 1, 0, 1, 0});
    CHECK(positions.at({2, 0}) == doctest::Approx(0.909297426825682));
    CHECK(positions.at({2, 1}) == doctest::Approx(-0.416146836547142));
    CHECK(positions.at({2, 4}) == doctest::Approx(0.001261914354082));  // sin(2 / 10000^(4/5))
  }
}

}  // namespace weights_test
