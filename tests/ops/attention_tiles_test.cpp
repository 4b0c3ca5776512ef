// Tiles of attention_tiled.comp, and parts of the keys, as devices with more and fewer cores get them.
#include "ops/attention.h"

#include <doctest/doctest.h>

#include <set>
#include <utility>

#include "ops/attention_case.h"
#include "ops/device_with_cores.h"
#include "support/gpu_tensors.h"

namespace attention_tiles_test {

using namespace headlight;
using namespace headlight::ops;
using test::AttentionCase;
using test::device_with_cores;

namespace {

/// Shapes with whole and partly filled tiles, hidden and open ones, and rows that see nothing.
std::vector<AttentionCase> cases() {
  test::Random random(41);
  std::vector<AttentionCase> all;
  AttentionCase causal = test::plain_attention(random, 1, 2, 150, 150, 24, 20);
  causal.mask.rule.causal = true;
  all.push_back(causal);
  causal.first_query = 149;
  all.push_back(causal);
  AttentionCase padded = test::plain_attention(random, 2, 4, 5, 300, 9, 70);
  padded.config.kv_heads = 2;
  padded.k = random.tensor({2, 2, 300, 9});
  padded.v = random.tensor({2, 2, 300, 70});
  padded.key_lengths = {300, 101};
  padded.key_starts = {0, 70};
  padded.mask.painted[{.batch = 1}].paint({3, 290}, true);
  padded.config.softcap = 2.0f;
  padded.position_bias = model::PositionBias{.kind = model::PositionBias::Kind::Slopes, .table = random.tensor({4}, 0.1f)};
  all.push_back(padded);
  AttentionCase window = test::plain_attention(random, 1, 1, 200, 200, 16, 64);
  window.mask.rule.causal = true;
  window.mask.rule.window = 40;
  all.push_back(window);
  for (const attention::MaskFill fill : {attention::MaskFill::NegativeInfinity, attention::MaskFill::MinusOneBillion}) {
    AttentionCase hidden = test::plain_attention(random, 1, 2, 3, 200, 8, 8);
    hidden.mask.fill = fill;
    attention::BooleanMask matrix{.queries = 3, .keys = 200, .keep = std::vector<std::uint8_t>(3 * 200, 1)};
    for (std::uint32_t key = 0; key < 200; ++key) matrix.keep[200 + key] = 0;
    hidden.mask.matrix = std::move(matrix);
    all.push_back(hidden);
  }
  return all;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("attention tiles: large ones where they are enough, then small ones, then parts of the keys") {
    const AttentionTiles long_text = choose_attention_tiles(device_with_cores(40), 1'024, 12, 1'024, 16);
    CHECK(long_text == AttentionTiles{.lanes = 256, .rows = 64, .parts = 1});
    const AttentionTiles short_text = choose_attention_tiles(device_with_cores(40), 64, 12, 64, 16);
    CHECK(short_text == AttentionTiles{.lanes = 64, .rows = 32, .parts = 1});
    const AttentionTiles token = choose_attention_tiles(device_with_cores(40), 1, 12, 1'024, 16);
    CHECK(token == AttentionTiles{.lanes = 64, .rows = 32, .parts = 13});
  }

  TEST_CASE("attention tiles: limits of the device") {
    gpu::DeviceInfo small = device_with_cores(1);
    small.max_invocations = 128;
    CHECK(choose_attention_tiles(small, 1'024, 12, 1'024, 16).lanes == 64);
    gpu::DeviceInfo narrow = device_with_cores(1'000);
    CHECK(choose_attention_tiles(narrow, 1, 2, 4'096, 32).parts == 16);
    narrow.max_groups[2] = 7;
    CHECK(choose_attention_tiles(narrow, 1, 2, 4'096, 32).parts == 3);
    narrow.max_storage_range = 1'000;  // less than the sums of one part
    CHECK(choose_attention_tiles(narrow, 1, 2, 4'096, 32).parts == 1);
  }

  TEST_CASE("attention tiles: both sizes and parts of the keys give the reference's numbers") {
    std::set<std::pair<std::uint32_t, bool>> seen;  // lanes, in parts
    for (const auto& device : {std::pair{1u, 0u}, {1u, 128u}, {400u, 0u}}) {
      const auto& cores = device.first;
      const auto& max_invocations = device.second;
      test::WatchedContext context({.max_invocations = max_invocations, .cores = cores});
      Kernels kernels(context);
      for (const AttentionCase& one : cases()) {
        INFO(cores, " cores: ", test::describe(one));
        const AttentionTiles tiles = choose_attention_tiles(context->device(), one.queries - one.first_query,
                                                            one.batch * one.config.heads, one.keys, (one.v.axis(3) + 3) / 4);
        seen.emplace(tiles.lanes, tiles.parts > 1);
        const auto result = test::run(kernels, one, AttentionKernel::Tiled);
        const auto deviation = test::deviation(one, result, test::expected(one));
        CHECK(deviation.heads.nmse < 1e-11);
        CHECK(deviation.heads.max_abs < 1e-5);
        CHECK(deviation.row_max.max_abs < 1e-5);
        CHECK(deviation.row_sum.nmse < 1e-11);
        CHECK(result.is_padding_zero);
        CHECK(result.is_rest_untouched);
        CHECK(result.dispatches == (tiles.parts > 1 ? 2u : 1u));
      }
    }
    CHECK(seen == std::set<std::pair<std::uint32_t, bool>>{{64, false}, {64, true}, {256, false}});
  }
}

}  // namespace attention_tiles_test
