// Parts of a stage's matrix, exact and pooled.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "inference/playground.h"
#include "support/deviation.h"
#include "support/error_message.h"
#include "support/gpu.h"
#include "support/random.h"
#include "support/running_session.h"
#include "support/stages.h"

namespace tiles_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;
using attention::Tile;
using attention::TileRequest;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A padded batch of two with every kind of masked cell: by window, padding and paint, whole rows among them.
class Looked {
 public:
  explicit Looked(attention::MaskFill fill, gpu::Context& context = test::shared_context()) : session(context) {
    PlaygroundSettings settings;
    settings.d_model = 20;
    settings.heads = 5;
    settings.d_k = 7;
    settings.d_v = 6;
    const Playground playground = make_playground(
        settings,
        "a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m\none two three four five six", "");
    spec.rule.window = 9;
    spec.fill = fill;
    for (std::uint32_t key = 0; key < 39; ++key) spec.painted[{.head = 2}].paint({4, key}, false);
    attention::MaskSet masks;
    masks.by_kind[0] = spec;
    session.run(playground.network, playground.input, masks);
  }

  /// One matrix of a stage, all of it.
  std::vector<float> matrix(const TileRequest& request, std::uint32_t& columns) {
    const Tensor all = session.stage(request.block, request.stage);
    const std::uint32_t rows = all.shape[all.shape.size() - 2];
    columns = all.shape.back();
    const std::size_t index =
        attention::is_per_head(request.stage) ? std::size_t{request.batch} * all.axis(1) + request.head : request.batch;
    const auto begin = all.values.begin() + static_cast<std::ptrdiff_t>(index * rows * columns);
    return {begin, begin + static_cast<std::ptrdiff_t>(std::size_t{rows} * columns)};
  }

  bool shows(const TileRequest& request, std::uint32_t row, std::uint32_t column) const {
    return spec.is_visible(request.block.layer.value, request.batch, request.head, row, column, request.batch == 0 ? 39 : 6);
  }

  test::RunningSession session;
  attention::MaskSpec spec;
};

TileRequest random_request(test::Random& random, const test::RunningSession& session, Stage stage) {
  TileRequest request{
      .block = {.layer = LayerIndex{random.below(2)}}, .batch = random.below(2), .head = random.below(5), .stage = stage};
  const auto extent = session.shape(request.block).extent(stage).value();
  request.row = random.below(extent.rows);
  request.rows = random.between(1, extent.rows - request.row);
  request.column = random.below(extent.columns);
  request.columns = random.between(1, extent.columns - request.column);
  return request;
}

/// Weights: the largest; masked scores: the mean of the visible ones, or the fill; else the mean.
float pooled(const Looked& looked, const std::vector<float>& matrix, std::uint32_t columns, const TileRequest& request,
             std::uint32_t tile_row, std::uint32_t tile_column, bool& is_masked) {
  double sum = 0.0;
  float largest = -kInfinity;
  std::uint32_t count = 0;
  is_masked = true;
  const std::uint32_t last_row = std::min(request.rows, (tile_row + 1) * request.pool);
  const std::uint32_t last_column = std::min(request.columns, (tile_column + 1) * request.column_pool());
  for (std::uint32_t r = tile_row * request.pool; r < last_row; ++r) {
    for (std::uint32_t c = tile_column * request.column_pool(); c < last_column; ++c) {
      const bool shows = looked.shows(request, request.row + r, request.column + c);
      is_masked = is_masked && !shows;
      if (request.stage == Stage::Masked && !shows) continue;
      const float value = matrix[std::size_t{request.row + r} * columns + request.column + c];
      largest = std::max(largest, value);
      sum += static_cast<double>(value);
      ++count;
    }
  }
  if (request.stage == Stage::Weights) return largest;
  return count == 0 ? attention::fill_value(looked.spec.fill) : static_cast<float>(sum / count);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "any rectangle of any stage is the same part of the whole matrix") {
    for (const attention::MaskFill fill : {attention::MaskFill::NegativeInfinity, attention::MaskFill::MinusOneBillion}) {
      Looked looked(fill);
      test::Random random(7);
      for (const Stage stage : test::kAllStages) {
        if (!looked.session.shape({}).extent(stage)) continue;
        for (int i = 0; i < 12; ++i) {
          const TileRequest request = random_request(random, looked.session, stage);
          const Tile tile = looked.session.evaluate({&request, 1}).at(0);
          std::uint32_t columns = 0;
          const std::vector<float> matrix = looked.matrix(request, columns);
          CHECK(std::none_of(matrix.begin(), matrix.end(), [](float value) { return std::isnan(value); }));
          std::size_t wrong = 0;
          for (std::uint32_t r = 0; r < request.rows; ++r) {
            for (std::uint32_t c = 0; c < request.columns; ++c) {
              const float whole = matrix[std::size_t{request.row + r} * columns + request.column + c];
              if (tile.at(r, c) != whole) ++wrong;
              if (attention::is_map(stage) &&
                  tile.is_masked(r, c) == looked.shows(request, request.row + r, request.column + c))
                ++wrong;
            }
          }
          CAPTURE(attention::to_string(stage));
          CHECK(wrong == 0);
          CHECK(tile.masked.empty() == !attention::is_map(stage));
        }
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "pooled tiles: the largest weight, the mean of other stages, masked where all cells are") {
    for (const attention::MaskFill fill : {attention::MaskFill::NegativeInfinity, attention::MaskFill::MinusTenBillion}) {
      Looked looked(fill);
      test::Random random(8);
      for (const Stage stage : test::kAllStages) {
        if (!looked.session.shape({}).extent(stage)) continue;
        for (int i = 0; i < 8; ++i) {
          TileRequest request = random_request(random, looked.session, stage);
          request.pool = random.pick({2u, 3u, 5u, 8u, 100u});
          request.pooled_columns = random.pick({0u, 1u, 2u, 7u, 100u});
          const Tile tile = looked.session.evaluate({&request, 1}).at(0);
          CHECK(tile.values.size() == std::size_t{request.tile_rows()} * request.tile_columns());
          std::uint32_t columns = 0;
          const std::vector<float> matrix = looked.matrix(request, columns);
          double difference = 0.0;
          std::size_t wrong_flags = 0;
          for (std::uint32_t r = 0; r < request.tile_rows(); ++r) {
            for (std::uint32_t c = 0; c < request.tile_columns(); ++c) {
              bool is_masked = false;
              const float expected = pooled(looked, matrix, columns, request, r, c, is_masked);
              test::widen(difference, tile.at(r, c), expected);
              if (attention::is_map(stage) && tile.is_masked(r, c) != is_masked) ++wrong_flags;
            }
          }
          CAPTURE(attention::to_string(stage));
          CAPTURE(request.pool);
          CAPTURE(request.pooled_columns);
          if (stage == Stage::Weights) {
            CHECK(difference == 0.0);  // a maximum, not an average
          } else {
            CHECK(difference < 2e-6);  // observed 1.2e-7
          }
          CHECK(wrong_flags == 0);
        }
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a tile of a map includes its rows' m and l, for any columns and pool") {
    for (const attention::MaskFill fill : {attention::MaskFill::NegativeInfinity, attention::MaskFill::MinusOneBillion}) {
      Looked looked(fill);
      const TileRequest whole{.batch = 1, .head = 2, .stage = Stage::Masked, .rows = 39, .columns = 39};
      const Tile masked = looked.session.evaluate({&whole, 1}).at(0);
      TileRequest part{
          .batch = 1, .head = 2, .stage = Stage::Weights, .row = 3, .rows = 20, .column = 30, .columns = 5, .pool = 4};
      const Tile tile = looked.session.evaluate({&part, 1}).at(0);
      REQUIRE(tile.row_max.size() == 20);
      REQUIRE(tile.row_sum.size() == 20);
      for (std::uint32_t r = 0; r < 20; ++r) {
        CAPTURE(r);
        float m = -kInfinity;
        for (std::uint32_t c = 0; c < 39; ++c) m = std::max(m, masked.at(3 + r, c));
        double l = 0.0;
        for (std::uint32_t c = 0; c < 39 && m > -kInfinity; ++c) l += std::exp(static_cast<double>(masked.at(3 + r, c) - m));
        CHECK((tile.row_max[r] == m || std::abs(tile.row_max[r] - m) < 1e-6f));
        CHECK(static_cast<double>(tile.row_sum[r]) == doctest::Approx(l).epsilon(1e-6));
      }
      const float fill_value = attention::fill_value(fill);
      CHECK(tile.row_max[1] == fill_value);  // query 4 of head 2 sees nothing
      CHECK(tile.row_sum[1] == (fill == attention::MaskFill::NegativeInfinity ? 0.0f : 39.0f));
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "many requests of every kind together give the results of each alone, in one submission") {
    Looked looked(attention::MaskFill::MinusOneBillion);
    test::Random random(9);
    std::vector<TileRequest> requests;
    for (std::uint32_t layer = 0; layer < 2; ++layer) {
      for (const Stage stage : {Stage::Weights, Stage::Masked}) {  // thumbnails: consecutive heads of one map
        for (std::uint32_t head = 0; head < 5; ++head) {
          requests.push_back({.block = {.layer = LayerIndex{layer}},
                              .batch = 1,
                              .head = head,
                              .stage = stage,
                              .rows = 39,
                              .columns = 39,
                              .pool = 3});
        }
      }
    }
    for (int i = 0; i < 60; ++i) {
      const auto last = static_cast<std::uint32_t>(Stage::Output);
      const auto stage =
          static_cast<Stage>(random.between(1, last));        // of the attention, which needs no submission of its own
      if (!looked.session.shape({}).extent(stage)) continue;  // scores of distances
      requests.push_back(random_request(random, looked.session, stage));
      requests.back().pool = random.pick({1u, 1u, 4u});
    }
    requests.push_back(requests.front());
    const std::uint64_t before = context.submissions();
    const std::vector<Tile> together = looked.session.evaluate(requests);
    CHECK(context.submissions() == before + 1);
    REQUIRE(together.size() == requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const Tile alone = looked.session.evaluate({&requests[i], 1}).at(0);
      CAPTURE(i);
      CHECK(together[i].request == requests[i]);
      CHECK(together[i].values == alone.values);
      CHECK(together[i].masked == alone.masked);
      CHECK(together[i].row_max == alone.row_max);
      CHECK(together[i].row_sum == alone.row_sum);
    }
    CHECK(looked.session.evaluate({}).empty());
  }

  TEST_CASE("more tiles than a small device can bind take several submissions; one too large is refused") {
    test::WatchedContext small({.max_storage_range = 65'536});
    Looked looked(attention::MaskFill::NegativeInfinity, small);
    Looked same(attention::MaskFill::NegativeInfinity);
    const std::uint64_t before = small->submissions();
    const Tensor weights = looked.session.stage({}, Stage::Weights);  // 10 maps of 39 · 39 · 8 bytes
    CHECK(small->submissions() == before + 2);
    CHECK(weights.values == same.session.stage({}, Stage::Weights).values);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "requests outside their matrix are refused in one line with the matrix' size") {
    Looked looked(attention::MaskFill::NegativeInfinity);
    const TileRequest good{.batch = 1, .head = 4, .stage = Stage::Weights, .row = 38, .rows = 1, .column = 38, .columns = 1};
    CHECK(looked.session.evaluate({&good, 1}).size() == 1);
    const auto refuses = [&](auto change) {
      TileRequest request = good;
      change(request);
      const std::string message = test::error_message([&] { looked.session.evaluate({&request, 1}); });
      CAPTURE(message);
      CHECK(test::is_one_line(message));
      CHECK(message.find("lies outside its matrix of 39 × 39") != std::string::npos);
    };
    refuses([](TileRequest& request) { request.rows = 2; });
    refuses([](TileRequest& request) { request.row = 39; });
    refuses([](TileRequest& request) { request.row = ~0u; });  // row + rows is 0 in 32 bits
    refuses([](TileRequest& request) { request.columns = 2; });
    refuses([](TileRequest& request) { request.column = ~0u; });
    refuses([](TileRequest& request) { request.rows = 0; });
    refuses([](TileRequest& request) { request.columns = 0; });
    refuses([](TileRequest& request) { request.pool = 0; });
    refuses([](TileRequest& request) { request.pool = ~0u; });
    refuses([](TileRequest& request) { request.batch = 2; });
    refuses([](TileRequest& request) { request.head = 5; });
    refuses([](TileRequest& request) { request.pooled_columns = ~0u; });
    TileRequest elsewhere = good;
    elsewhere.block.layer.value = 2;
    CHECK(test::error_message([&] {
            looked.session.evaluate({&elsewhere, 1});
          }) == "the run has no encoder attention in layer 2");
    TileRequest whole_layer = good;  // stages for all heads together ignore the head
    whole_layer.stage = Stage::X;
    whole_layer.head = 99;
    whole_layer.column = 0;
    CHECK(looked.session.evaluate({&whole_layer, 1}).size() == 1);
  }
}

}  // namespace tiles_gpu_test
