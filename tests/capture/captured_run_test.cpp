#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "capture/captured_tiles.h"
#include "capture/captures.h"
#include "core/error.h"
#include "support/deviation.h"
#include "support/error_message.h"
#include "support/golden.h"

namespace captured_run_test {

using namespace headlight;
using namespace headlight::capture;
using namespace headlight::test;
using attention::Stage;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// The first 1000 × 1000 weights of a file that may say anything.
attention::TileRequest whole_of(const CapturedRun& run, model::BlockRef block) {
  const attention::BlockShape shape = run.shape(block);
  return {.block = block, .rows = std::min(shape.queries, 1000U), .columns = std::min(shape.keys, 1000U)};
}

/// Weights of `heads` heads whose rows sum to 1, each cell another number.
MadeTensor uneven(std::uint32_t heads, std::uint32_t tokens) {
  MadeTensor made{.name = "attention.0", .shape = {1, heads, tokens, tokens}, .values = {}};
  std::uint32_t seed = 1;
  for (std::uint32_t row = 0; row < heads * tokens; ++row) {
    std::vector<double> line(tokens);
    double sum = 0.0;
    for (double& cell : line) sum += cell = static_cast<double>((seed = seed * 1664525U + 1013904223U) >> 8U) + 1.0;
    for (const double cell : line) made.values.push_back(static_cast<float>(cell / sum));
  }
  return made;
}

/// The pooled tile of exact values by a plain loop.
std::vector<float> pooled(const std::vector<float>& exact, const attention::TileRequest& request) {
  std::vector<float> values;
  for (std::uint32_t top = 0; top < request.rows; top += request.pool) {
    for (std::uint32_t left = 0; left < request.columns; left += request.column_pool()) {
      double sum = 0.0, largest = -1.0, count = 0.0;
      const std::uint32_t looked_at = request.sampled_rows > 0 ? request.sampled_rows : request.pool;
      for (std::uint32_t row = top; row < std::min(top + looked_at, request.rows); ++row) {
        for (std::uint32_t column = left; column < std::min(left + request.column_pool(), request.columns); ++column) {
          const double value = exact[std::size_t{row} * request.columns + column];
          sum += value;
          largest = std::max(largest, value);
          count += 1.0;
        }
      }
      values.push_back(static_cast<float>(request.pooling == attention::Pooling::Max ? largest : sum / count));
    }
  }
  return values;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("cells are the file's numbers bit for bit, in tiles anywhere and at every level") {
    const TemporaryDirectory folder;
    constexpr std::uint32_t kTokens = 65;
    const MadeTensor made = uneven(2, kTokens);
    const auto run = open_run(write_capture(folder.path() / "c.safetensors", {made}));
    CHECK(run->blocks() == std::vector{kFirst});
    for (const std::uint32_t head : {0U, 1U}) {
      const auto begin = made.values.begin() + static_cast<std::ptrdiff_t>(std::size_t{head} * kTokens * kTokens);
      const std::vector<float> exact(begin, begin + kTokens * kTokens);
      CHECK(tile_of(*run, whole(*run, kFirst, 0, head)).values == exact);
      const attention::TileRequest part{.block = kFirst, .head = head, .row = 7, .rows = 20, .column = 33, .columns = 31};
      std::vector<float> cut;
      for (std::uint32_t row = 7; row < 27; ++row) {
        for (std::uint32_t column = 33; column < 64; ++column) cut.push_back(exact[std::size_t{row} * kTokens + column]);
      }
      CHECK(tile_of(*run, part).values == cut);
      for (const std::uint32_t pool : {2U, 4U, 64U, 128U}) {
        for (const attention::Pooling pooling : {attention::Pooling::Max, attention::Pooling::Mean}) {
          CAPTURE(pool);
          attention::TileRequest request = whole(*run, kFirst, 0, head);
          request.pool = pool;
          request.pooling = pooling;
          const attention::Tile tile = tile_of(*run, request);
          CHECK(tile.values == pooled(exact, request));
          CHECK(tile.row_sum.size() == kTokens);
          request.pooled_columns = pool == 2 ? 1 : 7;
          CHECK(tile_of(*run, request).values == pooled(exact, request));
        }
      }
      for (const std::uint32_t sampled_rows : {1U, 3U}) {
        attention::TileRequest request = whole(*run, kFirst, 0, head);
        request.pool = 32;
        request.sampled_rows = sampled_rows;
        const attention::Tile tile = tile_of(*run, request);
        CHECK(tile.values == pooled(exact, request));
        CHECK(tile.row_sum.size() == kTokens);  // of every row
      }
      // m and l tell each row's largest weight.
      const attention::Tile tile = tile_of(*run, whole(*run, kFirst, 0, head));
      double worst = 0.0;
      for (std::uint32_t row = 0; row < kTokens; ++row) {
        const float* line = exact.data() + std::size_t{row} * kTokens;
        widen(worst, 1.0F / tile.row_sum[row], *std::max_element(line, line + kTokens));
      }
      CHECK(worst < 1e-8);  // 1.9e-9
    }
    CHECK(run->warning() == "");
  }

  TEST_CASE("float64 of an .npz is rounded to float32, and that is told") {
    const auto run = open_run(golden_capture("translator.npz"));
    const nlohmann::json expected = golden("captures/translator_expected.json");
    const std::map<std::string, model::BlockKind> kinds = {{"encoder_attention.1", model::BlockKind::EncoderSelf},
                                                           {"decoder_attention.1", model::BlockKind::DecoderSelf},
                                                           {"cross_attention.1", model::BlockKind::Cross}};
    for (const auto& [array, kind] : kinds) {
      const std::string name = array;
      CAPTURE(name);
      const model::BlockRef block{.kind = kind, .layer = {1}};
      std::vector<float> values;
      for (std::uint32_t head = 0; head < 2; ++head) {
        const attention::Tile tile = tile_of(*run, whole(*run, block, 0, head));
        values.insert(values.end(), tile.values.begin(), tile.values.end());
      }
      std::vector<float> rounded;
      for (const double number : flatten(expected.at(name))) rounded.push_back(static_cast<float>(number));
      CHECK(values == rounded);
    }
    CHECK(run->warning() == "numbers of float64 are rounded to float32");
  }

  TEST_CASE("a compressed .npz of float16 has the same numbers") {
    const auto run = open_run(golden_capture("compressed.npz"));
    const nlohmann::json expected = golden("captures/translator_expected.json");
    std::vector<float> values;
    for (std::uint32_t head = 0; head < 2; ++head) {
      const attention::Tile tile = tile_of(*run, whole(*run, kFirst, 0, head));
      values.insert(values.end(), tile.values.begin(), tile.values.end());
    }
    CHECK(deviation(values, flatten(expected.at("encoder_attention.0"))).max_abs < 5e-4);  // 2.1e-4: half of float16's step
    CHECK(run->warning() == "");                                                           // rows of float16 sum to 1 nearly
  }

  TEST_CASE("cells that aren't finite stay so in every level, and are counted once") {
    const TemporaryDirectory folder;
    MadeTensor made = even("attention.0", {1, 1, 4, 4});
    made.values[5] = kNaN;
    made.values[10] = std::numeric_limits<float>::infinity();
    const auto run = open_run(write_capture(folder.path() / "c.safetensors", {made}));
    attention::TileRequest request = whole(*run, kFirst, 0, 0);
    for (int repeat = 0; repeat < 2; ++repeat) {
      const attention::Tile tile = tile_of(*run, request);
      CHECK(std::isnan(tile.values[5]));
      CHECK(std::isinf(tile.values[10]));
      CHECK(tile.row_sum[1] == 4.0F);  // of the row's other cells
    }
    request.pool = 2;
    const attention::Tile tile = tile_of(*run, request);
    CHECK(std::isnan(tile.values[0]));
    CHECK(tile.values[1] == 0.25F);
    CHECK(std::isnan(tile.values[3]));
    CHECK(run->warning() == "2 cells are NaN or infinite");
  }

  TEST_CASE("rows that don't sum to 1 are shown as they are, with the worst one's sum") {
    const TemporaryDirectory folder;
    MadeTensor made = even("attention.0", {2, 1, 4, 4});
    made.values[0] = 0.75F;
    for (std::size_t cell = 24; cell < 28; ++cell) made.values[cell] = 0.0F;  // line 2, query 2
    const auto run = open_run(write_capture(folder.path() / "c.safetensors", {made}));
    CHECK(run->warning() == "");  // nothing is read yet
    CHECK(tile_of(*run, whole(*run, kFirst, 0, 0)).values[0] == 0.75F);
    CHECK(run->warning() == "1 row does not sum to 1, the worst to 1.5 (encoder layer 0, head 0, line 1, query 0)");
    const attention::Tile second = tile_of(*run, whole(*run, kFirst, 1, 0));
    CHECK(second.row_sum[2] == 0.0F);
    CHECK(second.row_max[2] == -std::numeric_limits<float>::infinity());
    CHECK(run->warning() == "2 rows do not sum to 1, the worst to 0 (encoder layer 0, head 0, line 2, query 2)");
  }

  TEST_CASE("rows that dropout changed are told from others that don't sum to 1") {
    const TemporaryDirectory folder;
    const auto warning_of = [&](const std::vector<float>& values) {
      const auto run = open_run(
          write_capture(folder.path() / "c.safetensors", {{.name = "attention.0", .shape = {1, 4, 4}, .values = values}}));
      (void)tile_of(*run, whole(*run, kFirst, 0, 0));
      return run->warning();
    };
    const std::string_view words = ", which looks like dropout: call model.eval() before the pass";
    // p = 0.1 of even causal weights: each is 0 or 1.111 of itself.
    constexpr float kKept = 1.0F / 0.9F;
    const std::string dropped = warning_of({kKept, 0, 0, 0, kKept / 2, kKept / 2, 0, 0, kKept / 3, 0, kKept / 3, 0,
                                            kKept / 4, kKept / 4, kKept / 4, kKept / 4});
    CAPTURE(dropped);
    CHECK(dropped.find("4 rows do not sum to 1, the worst to 0.7407") == 0);
    CHECK(dropped.ends_with(words));
    // Weights without rows' sums: unnormalised, or with numbers below 0.
    for (const float factor : {3.0F, -1.0F}) {
      CHECK_FALSE(
          warning_of({factor, 0, 0, 0, factor / 2, 0, factor / 2, 0, 1.5F, 0, 0, 0, 1.2F, 0, 0, 0}).ends_with(words));
    }
    // A window that is cut: zeros before and after, none between.
    CHECK_FALSE(warning_of({1.5F, 0, 0, 0, 0, 1.2F, 0, 0, 0, 0.5F, 0.25F, 0, 0, 0, 0, 1}).ends_with(words));
  }

  TEST_CASE("a file with any byte damaged is read or refused in one line") {
    const TemporaryDirectory folder;
    std::size_t refused = 0, shown = 0;
    for (const char* name : {"self.safetensors", "queries.safetensors", "translator.npz", "compressed.npz"}) {
      const std::string whole = read_file(golden_capture(name), std::size_t{1} << 20);
      const auto path = folder.path() / name;
      for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ (at % 3 == 0 ? 0x01 : at % 3 == 1 ? 0x80 : 0xFF));
        std::filesystem::remove(path);  // ext4 writes a file that is truncated and filled again to the disk at once
        std::ofstream(path, std::ios::binary) << damaged;
        const std::string message = error_message([&] {
          const auto run = open_run(path);
          for (const model::BlockRef block : run->blocks()) (void)tile_of(*run, whole_of(*run, block));
          ++shown;
        });
        refused += message.empty() ? 0U : 1U;
        CAPTURE(name);
        CAPTURE(at);
        if (!message.empty()) CHECK(is_one_line(message));
      }
    }
    CHECK(refused > 1000);
    CHECK(shown > 1000);
  }

  TEST_CASE("what a capture hasn't got is empty or an error, and runs have versions of their own") {
    const auto run = open_run(golden_capture("self.safetensors"));
    CHECK_FALSE(run->has_logits());
    CHECK(run->logits().is_empty());
    CHECK(run->hidden(inference::Stack::Encoder).is_empty());
    CHECK(run->encoder_output().is_empty());
    CHECK_THROWS_AS((void)run->logits(std::span<const inference::StateRef>()), Error);
    CHECK_THROWS_AS((void)run->residuals({}), Error);
    const model::BlockRef missing{.kind = model::BlockKind::Cross};
    CHECK(error_message([&] { (void)run->shape(missing); }) == "the capture has no cross attention in layer 0");
    const auto again = open_run(golden_capture("self.safetensors"));
    CHECK(run->version(kFirst) != again->version(kFirst));
  }
}

}  // namespace captured_run_test
