// Attention of captured queries and keys on the device, against the same in double precision on the host.
#include "capture/device_parts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "capture/captured_tiles.h"
#include "capture/captures.h"
#include "support/deviation.h"
#include "support/golden.h"
#include "support/gpu.h"
#include "support/random.h"

namespace device_parts_gpu_test {

using namespace headlight;
using namespace headlight::capture;
using namespace headlight::test;
using attention::Stage;
using attention::TileRequest;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Sizes {
  std::uint32_t batch = 1, heads = 1, kv_heads = 1, tokens = 1, d_k = 4, d_v = 0;
};

/// Queries, keys and, with a d_v, values that are drawn at random.
std::vector<MadeTensor> random_capture(const Sizes& sizes, std::uint32_t seed) {
  Random random(seed);
  const auto made = [&](const char* name, std::uint32_t heads, std::uint32_t width) {
    const Shape shape{sizes.batch, heads, sizes.tokens, width};
    return MadeTensor{.name = name, .shape = shape, .values = random.tensor(shape, 2.0F).values};
  };
  std::vector<MadeTensor> tensors{made("q.0", sizes.heads, sizes.d_k), made("k.0", sizes.kv_heads, sizes.d_k)};
  if (sizes.d_v > 0) tensors.push_back(made("v.0", sizes.kv_heads, sizes.d_v));
  return tensors;
}

/// One file, once on the device and once on the host.
struct Both {
  CapturedRun on_device, on_host;

  Both(inference::Session& session, const std::filesystem::path& path)
      : on_device(std::make_shared<const CaptureFile>(path), &session), on_host(std::make_shared<const CaptureFile>(path)) {}
};

TileRequest whole(const inference::Run& run, Stage stage, std::uint32_t batch = 0, std::uint32_t head = 0) {
  return capture::whole(run, kFirst, batch, head, stage);
}

/// The largest difference of two tiles' numbers, and of their rows' m and l in parts of these; ∞ where they hide other
/// cells.
double difference(const attention::Tile& left, const attention::Tile& right) {
  if (left.masked != right.masked || left.values.size() != right.values.size() ||
      left.row_sum.size() != right.row_sum.size() || left.request != right.request) {
    return std::numeric_limits<double>::infinity();
  }
  double worst = 0.0;
  for (std::size_t i = 0; i < left.values.size(); ++i) widen(worst, left.values[i], right.values[i]);
  for (std::size_t i = 0; i < left.row_sum.size(); ++i) {
    if (left.row_sum[i] == 0.0F && right.row_sum[i] == 0.0F && left.row_max[i] == right.row_max[i]) continue;  // sees no key
    widen(worst, left.row_sum[i] / right.row_sum[i], 1.0F);
    const float scale = std::max(std::abs(right.row_max[i]), 1.0F);  // the only key of a row may have a score near 0
    widen(worst, left.row_max[i] / scale, right.row_max[i] / scale);
  }
  return worst;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(OnGpu,
                    "every stage of captured queries, keys and values is the host's, with either mask and with padding") {
    const TemporaryDirectory folder;
    inference::Session session(context);
    double of_weights = 0.0, of_others = 0.0;
    for (const char* mask : {"", R"("mask":"causal")", R"("starts":"[0, 1]","lengths":"[1, 60]")",
                             R"("mask":"causal","starts":"[0, 5]","lengths":"[60, 60]")",
                             R"("mask":"causal","window":"9","scale":"0.21","softcap":"3")", R"("window":"40")"}) {
      for (const std::uint32_t tokens : {1U, 65U, 131U}) {
        if (tokens == 1 && std::string_view(mask).find("starts") != std::string_view::npos) continue;
        CAPTURE(mask);
        CAPTURE(tokens);
        const Sizes sizes{.batch = 2, .heads = 6, .kv_heads = 3, .tokens = tokens, .d_k = 20, .d_v = 10};
        const Both runs(session, write_capture(folder.path() / "c.safetensors", random_capture(sizes, tokens), mask));
        for (const Stage stage : {Stage::Q, Stage::K, Stage::V}) {
          const TileRequest stored = whole(runs.on_host, stage, 1, 5);
          CHECK(tile_of(runs.on_device, stored).values == tile_of(runs.on_host, stored).values);
        }
        for (const Stage stage : {Stage::Scores, Stage::Scaled, Stage::Masked, Stage::Heads, Stage::Merged}) {
          for (const std::uint32_t pool : {1U, 8U}) {
            TileRequest request = whole(runs.on_host, stage, 1, 3);
            request.pool = pool;
            raise_to(of_others, difference(tile_of(runs.on_device, request), tile_of(runs.on_host, request)));
          }
        }
        for (std::uint32_t head = 0; head < sizes.heads; ++head) {
          TileRequest request = whole(runs.on_host, Stage::Weights, head % 2, head);
          raise_to(of_weights, difference(tile_of(runs.on_device, request), tile_of(runs.on_host, request)));
          request.pool = 32;
          for (const attention::Pooling pooling : {attention::Pooling::Max, attention::Pooling::Mean}) {
            request.pooling = pooling;
            for (const std::uint32_t columns : {0U, 1U, 5U}) {
              request.pooled_columns = columns;
              raise_to(of_weights, difference(tile_of(runs.on_device, request), tile_of(runs.on_host, request)));
            }
          }
          request.pooled_columns = 0;
          request.pooling = attention::Pooling::Max;
          request.sampled_rows = 3;
          raise_to(of_weights, difference(tile_of(runs.on_device, request), tile_of(runs.on_host, request)));
        }
        CHECK(runs.on_device.warning() == "");
      }
    }
    CHECK(of_weights < 5e-6);  // 9.5e-7, of l in parts of itself
    CHECK(of_others < 2e-5);   // 3.8e-6, of scores up to 60
  }

  TEST_CASE_FIXTURE(OnGpu, "weights of PyTorch's queries and keys are its softmax") {
    inference::Session session(context);
    const Both runs(session, golden_capture("queries.safetensors"));
    const nlohmann::json expected = golden("captures/queries_expected.json");
    std::vector<float> weights, scaled;
    for (std::uint32_t head = 0; head < 4; ++head) {
      const attention::Tile tile = tile_of(runs.on_device, whole(runs.on_device, Stage::Weights, 0, head));
      weights.insert(weights.end(), tile.values.begin(), tile.values.end());
      const attention::Tile before = tile_of(runs.on_device, whole(runs.on_device, Stage::Scaled, 0, head));
      scaled.insert(scaled.end(), before.values.begin(), before.values.end());
    }
    const Deviation of_weights = deviation(weights, flatten(expected.at("weights")));
    const Deviation of_scaled = deviation(scaled, flatten(expected.at("scaled")));
    CHECK(of_weights.max_abs < 5e-7);  // 9.8e-8 by kernels, 5.6e-8 by functions of the program
    CHECK(of_scaled.max_abs < 2e-6);   // 4.4e-7
  }

  TEST_CASE_FIXTURE(OnGpu, "a row has the same bits whatever was asked before it") {
    const TemporaryDirectory folder;
    inference::Session session(context);
    const auto path = write_capture(folder.path() / "c.safetensors",
                                    random_capture({.heads = 2, .kv_heads = 1, .tokens = 200, .d_k = 8}, 5));
    const Both at_once(session, path), one_by_one(session, path);
    const attention::Tile all = tile_of(at_once.on_device, whole(at_once.on_device, Stage::Weights, 0, 1));
    for (const std::uint32_t row : {199U, 0U, 64U, 63U, 130U}) {
      TileRequest request = whole(one_by_one.on_device, Stage::Weights, 0, 1);
      request.row = row;
      request.rows = 1;
      const attention::Tile tile = tile_of(one_by_one.on_device, request);
      CHECK(std::equal(tile.values.begin(), tile.values.end(), all.values.begin() + row * 200));
      CHECK(tile.row_sum.front() == all.row_sum[row]);
    }
  }

  TEST_CASE_FIXTURE(OnGpu, "heads of a long text are parts, whose merged outputs are the host's") {
    const TemporaryDirectory folder;
    inference::Session session(context);
    const Sizes sizes{.heads = 6, .kv_heads = 6, .tokens = 6'000, .d_k = 32, .d_v = 32};
    const Both runs(session, write_capture(folder.path() / "c.safetensors", random_capture(sizes, 9)));
    DeviceParts parts(session);
    const CapturedBlock& block = runs.on_device.file().blocks().front();
    const DeviceParts::Part last = parts.part(block, 0, 5);
    REQUIRE(last.run);
    CHECK(last.heads < sizes.heads);
    CHECK(last.first_head + last.heads == sizes.heads);
    double worst = 0.0;
    for (const auto& [pool, columns] : {std::pair(1U, 0U), std::pair(4U, 0U), std::pair(4U, 1U), std::pair(1U, 8U)}) {
      const TileRequest merged{.block = kFirst,
                               .stage = Stage::Merged,
                               .row = 3'000,
                               .rows = 10,
                               .column = 20,
                               .columns = 150,
                               .pool = pool,
                               .pooled_columns = columns};
      const attention::Tile tile = tile_of(runs.on_device, merged);
      CHECK(tile.values.size() == std::size_t{merged.tile_rows()} * merged.tile_columns());
      raise_to(worst, difference(tile, tile_of(runs.on_host, merged)));
    }
    // Three heads are evaluated in one call, at the middle of the map.
    std::vector<TileRequest> maps;
    for (const std::uint32_t head : {5U, 0U, 1U}) {
      maps.push_back({.block = kFirst, .head = head, .row = 5'000, .rows = 16, .column = 100, .columns = 1'000, .pool = 4});
    }
    const std::vector<attention::Tile> shown = runs.on_device.evaluate(maps), expected = runs.on_host.evaluate(maps);
    for (std::size_t i = 0; i < maps.size(); ++i) raise_to(worst, difference(shown.at(i), expected.at(i)));
    CHECK(worst < 1e-5);  // 1.3e-6
  }

  TEST_CASE_FIXTURE(OnGpu, "parts that were used last stay on the device, the others make room") {
    const TemporaryDirectory folder;
    inference::Session session(context);
    const Sizes sizes{.batch = 8, .heads = 2, .kv_heads = 2, .tokens = 2'048, .d_k = 64};
    const auto path = write_capture(folder.path() / "c.safetensors", random_capture(sizes, 3));
    const CaptureFile file(path);
    constexpr std::size_t kBytes = std::size_t{10} << 20;  // four parts
    DeviceParts parts(session, kBytes);
    const std::size_t before = context.allocated_bytes();
    std::size_t most = 0;
    std::weak_ptr<const inference::Run> first = parts.part(file.blocks().front(), 0, 0).run;
    const std::weak_ptr<const inference::Run> second = parts.part(file.blocks().front(), 1, 0).run;
    for (std::uint32_t item = 1; item < sizes.batch; ++item) {
      parts.part(file.blocks().front(), item, 0);
      CHECK(parts.part(file.blocks().front(), 0, 0).run == first.lock());  // is used all the time
      most = std::max(most, context.allocated_bytes() - before);
    }
    CHECK(first.lock());
    CHECK_FALSE(second.lock());
    CHECK(most < kBytes + (std::size_t{1} << 20));  // 9,044,000
  }

  TEST_CASE_FIXTURE(OnGpu, "numbers that aren't finite are the host's, and products that overflow are no weights") {
    const TemporaryDirectory folder;
    inference::Session session(context);
    const Sizes sizes{.heads = 3, .kv_heads = 3, .tokens = 70, .d_k = 4, .d_v = 4};
    std::vector<MadeTensor> odd = random_capture(sizes, 1);
    const std::size_t head = std::size_t{sizes.tokens} * sizes.d_k;
    odd[0].values[5] = std::nanf("");
    odd[1].values[head + 7] = kInfinity;
    odd[2].values[2 * head + 9] = -kInfinity;
    const Both runs(session, write_capture(folder.path() / "o.safetensors", odd, R"("mask":"causal")"));
    for (std::uint32_t i = 0; i < sizes.heads; ++i) {
      for (const Stage stage : {Stage::Weights, Stage::Heads}) {
        const std::vector<float> shown = tile_of(runs.on_device, whole(runs.on_device, stage, 0, i)).values;
        const std::vector<float> expected = tile_of(runs.on_host, whole(runs.on_host, stage, 0, i)).values;
        REQUIRE(shown.size() == expected.size());
        bool is_same = true;
        for (std::size_t cell = 0; cell < shown.size(); ++cell) {
          is_same = is_same && (shown[cell] == expected[cell] || (std::isnan(shown[cell]) && std::isnan(expected[cell])));
        }
        CHECK(is_same);
      }
    }
    CHECK(runs.on_device.warning() == runs.on_host.warning());
    CHECK(runs.on_device.warning().find("cells are NaN or infinite") != std::string::npos);

    std::vector<MadeTensor> large = random_capture(sizes, 2);
    for (std::size_t i = 0; i < sizes.d_k; ++i) large[0].values[i] = large[1].values[i] = 1e30F;
    const Both overflowing(session, write_capture(folder.path() / "l.safetensors", large));
    const attention::Tile tile = tile_of(overflowing.on_device, whole(overflowing.on_device, Stage::Weights));
    const auto first_row = std::span(tile.values).first(sizes.tokens);
    CHECK(std::ranges::all_of(first_row, [](float weight) { return std::isnan(weight); }));
    CHECK(std::ranges::all_of(std::span(tile.values).subspan(sizes.tokens),
                              [](float weight) { return std::isfinite(weight); }));
    CHECK(overflowing.on_device.warning() == "70 cells are NaN or infinite");
    TileRequest coarse = whole(overflowing.on_device, Stage::Weights);
    coarse.pool = 35;
    const attention::Tile pooled = tile_of(overflowing.on_device, coarse);
    CHECK(std::isnan(pooled.at(0, 0)));
    CHECK(std::isnan(pooled.at(0, 1)));
    CHECK(std::isfinite(pooled.at(1, 0)));
    CHECK(overflowing.on_device.warning() == "70 cells are NaN or infinite");  // counted once
  }
}

}  // namespace device_parts_gpu_test
