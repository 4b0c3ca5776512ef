#include "model/positions.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

namespace positions_test {

using namespace headlight;
using namespace headlight::model;

namespace {

/// A bias whose value is the number of the bucket.
PositionBias numbered(std::uint32_t buckets, std::uint32_t max_distance, bool is_bidirectional) {
  PositionBias bias{.table = Tensor(Shape{buckets, 1}), .max_distance = max_distance, .is_bidirectional = is_bidirectional};
  for (std::uint32_t i = 0; i < buckets; ++i) bias.table.values[i] = static_cast<float>(i);
  return bias;
}

/// The distances at which a new bucket begins, from the query outwards in steps of `step`.
std::vector<int> beginnings(const PositionBias& bias, int step) {
  std::vector<int> distances{0};
  for (int i = 1; i <= 900; ++i) {
    if (bias.value(0, i * step) != bias.value(0, (i - 1) * step)) distances.push_back(i);
  }
  return distances;
}

using Distances = std::vector<int>;

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("buckets begin where T5's do") {
    // transformers 5.23, T5Attention._relative_position_bucket, PyTorch 2.15 in float32
    const Distances usual{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
    CHECK(beginnings(numbered(32, 128, true), -1) == usual);
    CHECK(beginnings(numbered(32, 128, true), 1) == usual);
    CHECK(numbered(32, 128, true).value(0, 0) == 0.0);
    CHECK(numbered(32, 128, true).value(0, 1) == 17.0);
    CHECK(numbered(32, 128, true).value(0, -900) == 15.0);
    CHECK(numbered(32, 128, true).value(0, 900) == 31.0);
    CHECK(beginnings(numbered(32, 128, false), -1) == Distances{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                                                11, 12, 13, 14, 15, 16, 19, 21, 24, 27, 31,
                                                                35, 40, 46, 52, 59, 67, 77, 87, 99, 113});
    CHECK(beginnings(numbered(32, 128, false), 1) == Distances{0});
    CHECK(beginnings(numbered(8, 14, true), -1) == Distances{0, 1, 2, 6});
    CHECK(beginnings(numbered(8, 14, false), -1) == Distances{0, 1, 2, 3, 4, 6, 8, 11});
    CHECK(beginnings(numbered(64, 800, true), 1) == Distances{0,  1,  2,   3,   4,   5,   6,   7,   8,   9,  10,
                                                              11, 12, 13,  14,  15,  16,  21,  27,  34,  43, 55,
                                                              70, 89, 114, 145, 185, 236, 301, 385, 491, 627});
  }

  TEST_CASE("rows of distances are DeBERTa's, also where rounding decides") {
    // transformers 5.24, make_log_bucket_position, PyTorch 2.15 in float32: all rows of −reach … reach, added up, and times
    // their places.
    struct Expected {
      std::uint32_t buckets, max_distance;
      std::uint64_t sum, weighted;
    };
    for (const Expected& of :
         {Expected{256, 512, 282'839, 222'187'486}, {6, 12, 589, 45'670}, {32, 512, 35'319, 28'535'722}}) {
      const DistanceVectors distances{.table = Tensor(Shape{2 * of.buckets, 1}),
                                      .origin = of.buckets,
                                      .buckets = of.buckets,
                                      .max_distance = of.max_distance};
      const std::int64_t reach = of.max_distance + 40;
      std::uint64_t sum = 0, weighted = 0;
      for (std::int64_t distance = -reach; distance <= reach; ++distance) {
        sum += distances.row(distance);
        weighted += distances.row(distance) * static_cast<std::uint64_t>(distance + reach);
      }
      CHECK(sum == of.sum);
      CHECK(weighted == of.weighted);
    }
    const DistanceVectors plain{.table = Tensor(Shape{14, 1}), .origin = 7};
    CHECK(plain.row(0) == 7);
    CHECK(plain.row(6) == 13);
    CHECK(plain.row(100) == 13);
    CHECK(plain.row(-100) == 0);
  }

  TEST_CASE("a bias is constant beyond its reach, unless it has no limit") {
    const PositionBias bias = numbered(32, 128, true);
    for (const int far : {128, 129, 100'000}) {
      CHECK(bias.value(0, far) == bias.value(0, bias.reach()));
      CHECK(bias.value(0, -far) == bias.value(0, -std::int64_t{bias.reach()}));
    }
    const PositionBias slopes{.kind = PositionBias::Kind::Slopes, .table = Tensor(Shape{2}, {0.5f, 0.25f})};
    CHECK(slopes.heads() == 2);
    CHECK(slopes.value(1, -100'000) == -25'000.0);
    CHECK(slopes.reach() == 0xffffffffu);
  }

  TEST_CASE("Falcon's ALiBi rounds slope, position and product to bfloat16") {
    const PositionBias bias{
        .kind = PositionBias::Kind::KeySlopes, .table = Tensor(Shape{2}, {0.25f, 0.84089642f}), .factor = 0.5f};
    CHECK(bias.of_cell(0, 0, 9, 0) == 0.5 * 0.25 * 9);
    CHECK(bias.of_cell(0, 7, 9, 4) == 0.5 * 0.25 * 5);  // of the line's own keys, whatever the query
    CHECK(bias.of_cell(0, 0, 2, 4) == 0.0);             // padding
    CHECK(bias.of_cell(1, 0, 1, 0) == 0.5 * 0.83984375);
    CHECK(bias.of_cell(1, 0, 17, 0) == 0.5 * 14.25);  // 14.27734375 has no bfloat16
    CHECK(bias.of_cell(0, 0, 257, 0) == 0.5 * 64.0);  // nor has 257: 256, which is even
    CHECK(bias.of_cell(0, 0, 259, 0) == 0.5 * 65.0);  // 260
  }

  TEST_CASE("dynamic NTK scaling: the base grows with the line beyond the trained length") {
    const Rotary rotary{
        .dimensions = 4, .inverse_frequencies = {1.0, 0.01}, .original_length = 12, .dynamic_factor = 2.0, .base = 10'000.0};
    CHECK(rotary.frequencies(12) == std::vector<double>{1.0, 0.01});
    CHECK(rotary.regime(12) == rotary.regime(3));
    CHECK(rotary.regime(18) != rotary.regime(17));
    const double base = 10'000.0 * std::pow(2.0 * 18 / 12 - 1.0, 4.0 / 2.0);
    CHECK(rotary.frequencies(18)[0] == 1.0);
    CHECK(rotary.frequencies(18)[1] == doctest::Approx(std::pow(base, -0.5)));
  }

  TEST_CASE("RoPE's angles are position times frequency, with other frequencies for long inputs") {
    const Rotary rotary{.dimensions = 4,
                        .inverse_frequencies = {std::numbers::pi / 2, 0.1},
                        .long_inverse_frequencies = {std::numbers::pi / 4, 0.05},
                        .original_length = 2,
                        .attention_factor = 2.0,
                        .long_attention_factor = 3.0};
    const Tensor brief = rotary.angles(2, 2);
    CHECK(brief.shape == Shape{2, 2, 2});
    CHECK(brief.at({0, 0, 0}) == 2.0f);
    CHECK(brief.at({1, 0, 1}) == 2.0f);  // sin(π/2)
    CHECK(brief.at({1, 1, 0}) == doctest::Approx(2.0 * std::cos(0.1)));
    const Tensor lengthy = rotary.angles(3, 3);
    CHECK(lengthy.at({2, 0, 1}) == 3.0f);
    CHECK(lengthy.at({1, 1, 1}) == doctest::Approx(3.0 * std::sin(0.05)));
    CHECK(rotary.is_long(3));
    CHECK(!rotary.is_long(2));
  }
}

}  // namespace positions_test
