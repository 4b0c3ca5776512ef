#include "ops/cells.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "attention/mask_words.h"
#include "ops/attention.h"
#include "ops/attention_case.h"
#include "support/gpu_tensors.h"

namespace cells_test {

using namespace headlight;
using namespace headlight::ops;
using test::AttentionCase;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A request of a view: one stage's region of consecutive heads of one batch item.
struct Look {
  MapStage stage = MapStage::Weights;
  std::uint32_t item = 0, first_head = 0, heads = 1;
  Region region;
};

struct Cells {
  std::vector<double> values;  ///< [head, tile row, tile column]
  std::vector<double> masked;  ///< likewise, 1 where all cells of the value are masked
};

/// One cell by plain loops over doubles.
double cell(const AttentionCase& one, const test::AttentionResult<double>& result, const Look& look, std::uint32_t head,
            std::uint32_t i, std::uint32_t j, bool is_visible) {
  const std::size_t map = std::size_t{look.item} * one.config.heads + head;
  const float* q = one.q.values.data() + (map * one.queries + i) * one.config.d_k;
  const std::uint32_t kv_heads = one.config.kv_head_count();
  const std::size_t key_map = std::size_t{look.item} * kv_heads + head / (one.config.heads / kv_heads);
  const float* k = one.k.values.data() + (key_map * one.keys + j) * one.config.d_k;
  double value = 0.0;
  for (std::uint32_t c = 0; c < one.config.d_k; ++c) value += static_cast<double>(q[c]) * static_cast<double>(k[c]);
  if (look.stage == MapStage::Scores) return value;
  value *= static_cast<double>(one.config.scale.factor(one.config.d_k));
  if (one.config.softcap > 0.0f) {
    const auto cap = static_cast<double>(one.config.softcap);
    value = cap * std::tanh(value / cap);
  }
  if (one.position_bias) value += one.position_bias->of_cell(head, i, j, one.keys_of(look.item).begin);
  value = one.score(look.item, head, {i, j}, value);
  if (look.stage == MapStage::Scaled) return value;
  const bool has_fill = one.mask.fill != attention::MaskFill::NegativeInfinity;
  const double fill = has_fill ? static_cast<double>(attention::fill_value(one.mask.fill))
                               : static_cast<double>(std::numeric_limits<float>::lowest());
  if (!is_visible) value = fill;
  if (look.stage == MapStage::Masked) return value;
  if (!is_visible && !has_fill) return 0.0;
  const std::size_t row = map * one.queries + i;
  return result.row_sum[row] == 0.0 ? 0.0 : std::exp(value - result.row_max[row]) / result.row_sum[row];
}

Cells expected(const AttentionCase& one, const Look& look) {
  const auto result = test::expected(one);
  const Region& region = look.region;
  const std::uint32_t square_rows = region.sampled_rows > 0 ? region.sampled_rows : region.pool;
  Cells cells;
  for (std::uint32_t head = look.first_head; head < look.first_head + look.heads; ++head) {
    for (std::uint32_t top = 0; top < region.rows; top += region.pool) {
      for (std::uint32_t left = 0; left < region.columns; left += region.column_pool()) {
        double sum = 0.0, largest = 0.0, fill = 0.0;
        std::uint32_t count = 0;
        bool is_masked = true;
        for (std::uint32_t i = region.row + top; i < region.row + std::min(region.rows, top + square_rows); ++i) {
          const std::uint32_t end = region.column + std::min(region.columns, left + region.column_pool());
          for (std::uint32_t j = region.column + left; j < end; ++j) {
            const bool is_visible = one.is_visible(look.item, head, {i, j});
            const double value = cell(one, result, look, head, i, j, is_visible);
            is_masked = is_masked && !is_visible;
            largest = std::isnan(largest) || std::isnan(value) ? kNan : std::max(largest, value);
            if (look.stage == MapStage::Masked && !is_visible) {
              fill = value;
              continue;
            }
            sum += value;
            ++count;
          }
        }
        const double mean = count > 0 ? sum / count : fill;
        cells.values.push_back(look.stage == MapStage::Weights ? largest : mean);
        cells.masked.push_back(is_masked ? 1.0 : 0.0);
      }
    }
  }
  return cells;
}

struct Evaluated {
  std::vector<float> values, masked;
  bool is_rest_untouched = true;  ///< before and after the tiles
};

/// The ways to evaluate maps: by lanes of their own reading storage or texel buffers, or by tiles in shared memory.
enum class Way { Storage, Texel, Tiles };

Evaluated run(Kernels& kernels, const AttentionCase& one, const Look& look, Way way) {
  constexpr std::uint32_t kOutAt = 3, kBehind = 5;
  kernels.set_tuning(
      {.attention = way == Way::Tiles ? AttentionKernel::Tiled : AttentionKernel::Naive, .texel_reads = way == Way::Texel});
  const std::uint32_t heads = one.config.heads;
  gpu::Stream stream(kernels.context());
  const DeviceTensor q = test::put(stream, one.q), k = test::put(stream, one.k), v = test::put(stream, one.v);
  const attention::DeviceMask mask = test::put_mask(stream, one);
  const DeviceTensor merged(stream, one.batch, 1, one.queries, heads * v.width4() * 4, "a test");
  const DeviceTensor stats = make_stats(stream, one.batch, heads, one.queries);
  const std::size_t count = look.heads * look.region.tile_values();
  const gpu::Buffer cells(kernels.context(), (kOutAt + count + kBehind) * kCellBytes, gpu::Memory::Device, "a test");
  stream.clear(cells);
  AttentionInputs inputs = test::attention_inputs(one, q, k, v, mask);
  const AttentionOutputs outputs{merged, stats, concatenated(heads, v.width4())};
  const Rows rows = inputs.queries;
  if (rows.first > 0) {  // two passes write the same statistics as one
    inputs.queries = {0, rows.first};
    ops::attention(stream, kernels, inputs, outputs, nullptr);
    inputs.queries = rows;
  }
  ops::attention(stream, kernels, inputs, outputs, nullptr);
  map_cells(stream, kernels, look.stage, inputs, stats, {look.item, look.first_head, look.heads}, look.region, cells,
            kOutAt);
  const gpu::Download bytes = stream.download(cells);
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  const auto pairs = submission.values<float>(bytes);
  Evaluated result;
  for (std::size_t at = 0; at < pairs.size() / 2; ++at) {
    if (at >= kOutAt && at < kOutAt + count) {
      result.values.push_back(pairs[2 * at]);
      result.masked.push_back(pairs[2 * at + 1]);
    } else {
      result.is_rest_untouched = result.is_rest_untouched && pairs[2 * at] == 0.0f && pairs[2 * at + 1] == 0.0f;
    }
  }
  return result;
}

void check(const AttentionCase& one, const Look& look, test::Deviation& worst) {
  const Cells wanted = expected(one, look);
  const Region& region = look.region;
  for (const Way way : {Way::Storage, Way::Texel, Way::Tiles}) {
    INFO("stage ", static_cast<int>(look.stage), ", way ", static_cast<int>(way), ", ", test::describe(one));
    INFO(fmt::format("rows {}+{}, columns {}+{}, pool {} × {}, heads {}+{}", region.row, region.rows, region.column,
                     region.columns, region.pool, region.column_pool(), look.first_head, look.heads));
    const Evaluated result = run(test::shared_kernels(), one, look, way);
    const test::Deviation values = test::deviation(result.values, wanted.values);
    CHECK(values.max_abs < 5e-5);  // observed 2.8e-6: sums of 200 products up to 4, not scaled
    CHECK(test::deviation(result.masked, wanted.masked).max_abs == 0.0);
    CHECK(result.is_rest_untouched);
    test::widen(worst, values);
  }
}

Look random_look(test::Random& random, const AttentionCase& one) {
  Look look;
  look.stage = random.pick({MapStage::Scores, MapStage::Scaled, MapStage::Masked, MapStage::Weights});
  look.item = random.below(one.batch);
  look.first_head = random.below(one.config.heads);
  look.heads = random.between(1, one.config.heads - look.first_head);
  Region& region = look.region;
  region.row = random.below(one.queries);
  region.rows = random.between(1, one.queries - region.row);
  region.column = random.below(one.keys);
  region.columns = random.between(1, one.keys - region.column);
  region.pool = random.chance(0.4) ? 1 : random.between(2, 17);
  if (random.chance(0.4)) region.pooled_columns = random.pick({1u, 2u, 5u, 16u, 17u, 33u, 70u});
  const bool is_pooled = region.pool > 1 || region.column_pool() > 1;
  if (is_pooled && look.stage == MapStage::Weights && random.chance(0.5)) look.stage = MapStage::MeanWeights;
  return look;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "regions of every map, exact and pooled, against double loops") {
    test::Random random(41);
    test::Deviation worst;
    for (int i = 0; i < 60; ++i) {
      const AttentionCase one = test::random_attention(random);
      check(one, random_look(random, one), worst);
    }
    CAPTURE(worst);
    CHECK(worst.max_abs < 5e-5);  // observed 2.8e-6
  }

  TEST_CASE_FIXTURE(test::OnGpu, "regions of every map under expressions that the user typed") {
    test::Random random(44);
    test::Deviation worst;
    for (std::uint32_t number = 0; number < 4; ++number) {
      const AttentionCase one = test::expressed_attention(random, number);
      for (const MapStage stage : {MapStage::Scores, MapStage::Scaled, MapStage::Masked, MapStage::Weights}) {
        check(one, {.stage = stage, .item = 1, .first_head = 1, .heads = 3, .region = {0, 45, 0, 67, 1}}, worst);
        check(one, {.stage = stage, .heads = 2, .region = {5, 33, 3, 60, 7}}, worst);
      }
    }
    CAPTURE(worst);
    CHECK(worst.max_abs < 5e-5);  // observed 1.2e-6
  }

  TEST_CASE("a map whose kernel the driver refuses is computed by another one") {
    for (const std::string_view refused : {"attention_cells_tiled", ".texel"}) {
      CAPTURE(refused);
      test::WatchedContext context({.refuses = [=](std::string_view kernel) {
        return kernel.starts_with("attention_cells") && kernel.find(refused) != std::string_view::npos;
      }});
      Kernels kernels(context);
      test::Random random(5);
      const AttentionCase one = test::plain_attention(random, 1, 2, 40, 70, 20, 24);
      for (const std::uint32_t pool : {1u, 4u}) {
        const Look look{.heads = 2, .region = {.row = 3, .rows = 33, .column = 5, .columns = 60, .pool = pool}};
        const Cells wanted = expected(one, look);
        for (const Way way : {Way::Texel, Way::Tiles}) {
          CHECK(test::deviation(run(kernels, one, look, way).values, wanted.values).max_abs < 5e-5);
        }
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a region that a causal mask hides is masked and has weight 0, whatever Q and K are") {
    test::Random random(42);
    AttentionCase one = test::plain_attention(random, 1, 1, 80, 80, 8, 4);
    one.mask.rule.causal = true;
    for (const auto& [pool, way] : {std::pair{1u, Way::Storage}, {5u, Way::Storage}, {1u, Way::Tiles}, {5u, Way::Tiles}}) {
      const Evaluated result = run(test::shared_kernels(), one, {.region = {0, 40, 40, 40, pool}}, way);
      CHECK(std::all_of(result.values.begin(), result.values.end(), [](float value) { return value == 0.0f; }));
      CHECK(std::all_of(result.masked.begin(), result.masked.end(), [](float masked) { return masked == 1.0f; }));
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "pooled weights show the peak") {
    test::Random random(43);
    AttentionCase one = test::plain_attention(random, 1, 1, 24, 24, 4, 4);
    std::fill(one.q.values.begin(), one.q.values.end(), 1.0f);
    std::fill(one.k.values.begin(), one.k.values.end(), 0.0f);
    std::fill_n(one.k.values.begin() + 13 * 4, 4, 20.0f);  // every query attends to key 13 alone
    for (const Way way : {Way::Storage, Way::Tiles}) {
      const Evaluated result = run(test::shared_kernels(), one, {.region = {0, 24, 0, 24, 8}}, way);
      REQUIRE(result.values.size() == 9);
      for (std::size_t at = 0; at < 9; ++at) CHECK(result.values[at] == doctest::Approx(at % 3 == 1 ? 1.0 : 0.0));
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "NaN stays NaN in every map, exact and pooled, and affects no other cell") {
    test::Random random(45);
    AttentionCase one = test::plain_attention(random, 1, 2, 40, 40, 8, 4);
    one.mask.rule.causal = true;
    one.q.values[(40 + 7) * 8 + 3] = std::numeric_limits<float>::quiet_NaN();  // query 7 of head 1
    one.k.values[30 * 8] = std::numeric_limits<float>::infinity();             // key 30 of head 0
    for (const float softcap : {0.0f, 20.0f}) {
      one.config.softcap = softcap;
      for (const MapStage stage : {MapStage::Scores, MapStage::Scaled, MapStage::Masked, MapStage::Weights}) {
        for (const auto& pooled :
             {std::pair{1u, Way::Storage}, {6u, Way::Storage}, {1u, Way::Tiles}, {6u, Way::Tiles}, {33u, Way::Tiles}}) {
          const auto& pool = pooled.first;
          const auto& way = pooled.second;
          const Look look{.stage = stage, .heads = 2, .region = {0, 40, 0, 40, pool}};
          const Cells wanted = expected(one, look);
          const Evaluated result = run(test::shared_kernels(), one, look, way);
          CAPTURE(softcap);
          CAPTURE(static_cast<int>(stage));
          CAPTURE(pool);
          CAPTURE(static_cast<int>(way));
          CHECK(test::deviation(result.masked, wanted.masked).max_abs == 0.0);
          std::size_t wrong = 0, not_numbers = 0;
          double worst = 0.0;
          for (std::size_t at = 0; at < wanted.values.size(); ++at) {
            const double value = result.values[at], right = wanted.values[at];
            not_numbers += std::isnan(right) ? 1U : 0U;
            if (std::isfinite(right)) {
              test::widen(worst, value, right);
            } else if (std::isnan(value) != std::isnan(right) || std::isfinite(value)) {
              ++wrong;
            }
          }
          CHECK(wrong == 0);
          CHECK(worst < 4e-6);  // observed 3.6e-7
          CHECK(not_numbers > 0);
        }
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "one cell alone") {
    test::Random random(44);
    const AttentionCase one = test::plain_attention(random, 2, 3, 9, 7, 5, 3);
    test::Deviation worst;
    check(one, {.stage = MapStage::Weights, .item = 1, .first_head = 2, .heads = 1, .region = {8, 1, 6, 1, 1}}, worst);
    check(one, {.stage = MapStage::Scores, .item = 1, .first_head = 2, .heads = 1, .region = {8, 1, 6, 1, 16}}, worst);
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "a sample of each square's first rows has their largest weights, and tells how many are shown") {
    test::Random random(95);
    AttentionCase one = test::plain_attention(random, 1, 2, 301, 290, 16, 4);
    one.mask.rule.causal = true;
    double worst = 0.0;
    for (const std::uint32_t pool : {32U, 64U}) {
      for (const std::uint32_t rows : {1U, 4U, 16U, 31U}) {
        const Look look{.heads = 2, .region = {3, 298, 5, 280, pool, rows}};
        const Cells wanted = expected(one, look);
        for (const Way way : {Way::Storage, Way::Texel, Way::Tiles}) {
          CAPTURE(pool);
          CAPTURE(rows);
          CAPTURE(static_cast<int>(way));
          const Evaluated result = run(test::shared_kernels(), one, look, way);
          test::raise_to(worst, test::deviation(result.values, wanted.values).max_abs);
          std::size_t wrong = 0;
          for (std::size_t at = 0; at < wanted.masked.size(); ++at) {
            wrong += (result.masked[at] == 0.0f) != (wanted.masked[at] == 1.0) ? 1U : 0U;
          }
          CHECK(wrong == 0);
          CHECK(result.is_rest_untouched);
        }
      }
    }
    CHECK(worst < 2e-6);  // observed 4.4e-8
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "rectangles of any shape, and means of weights, are those of plain loops however they are computed") {
    test::Random random(96);
    AttentionCase one = test::plain_attention(random, 1, 2, 90, 150, 16, 4);
    one.mask.rule.window = 60;
    test::Deviation worst;
    for (const auto& [pool, columns] :
         {std::pair{1u, 2u}, {1u, 64u}, {2u, 1u}, {64u, 1u}, {9u, 33u}, {33u, 9u}, {3u, 7u}, {16u, 16u}}) {
      for (const MapStage stage :
           {MapStage::Scores, MapStage::Scaled, MapStage::Masked, MapStage::Weights, MapStage::MeanWeights}) {
        check(one, {.stage = stage, .heads = 2, .region = {1, 88, 3, 147, pool, 0, columns}}, worst);
      }
    }
    CAPTURE(worst);
    CHECK(worst.max_abs < 2e-6);  // observed 5.3e-7
  }

  TEST_CASE_FIXTURE(test::OnGpu, "squares of more cells than one dispatch may loop over are complete") {
    test::Random random(94);
    AttentionCase one = test::plain_attention(random, 1, 2, 700, 700, 64, 4);
    one.mask.rule.causal = true;
    test::Deviation worst;
    for (const MapStage stage : {MapStage::Scores, MapStage::Scaled, MapStage::Masked, MapStage::Weights}) {
      check(one, {.stage = stage, .heads = 2, .region = {0, 700, 0, 700, 300}}, worst);
    }
    CAPTURE(worst);
    CHECK(worst.max_abs < 2e-6);  // observed 8.1e-8
  }
}

}  // namespace cells_test
