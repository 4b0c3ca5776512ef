// Weights that are computed from a capture's queries and keys, under its masks, scales, biases and sinks, and the outputs of
// heads from its values.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "capture/captured_tiles.h"
#include "capture/captures.h"
#include "support/deviation.h"
#include "support/error_message.h"
#include "support/golden.h"
#include "support/random.h"

namespace captured_scores_test {

using namespace headlight;
using namespace headlight::capture;
using namespace headlight::test;
using attention::Stage;

TEST_SUITE("cpu") {
  TEST_CASE("weights of queries and keys are PyTorch's softmax under the causal mask") {
    const auto run = open_run(golden_capture("queries.safetensors"));
    const nlohmann::json expected = golden("captures/queries_expected.json");
    std::vector<float> weights, scaled;
    for (std::uint32_t head = 0; head < 4; ++head) {
      const attention::Tile tile = tile_of(*run, whole(*run, kFirst, 0, head));
      weights.insert(weights.end(), tile.values.begin(), tile.values.end());
      CHECK(tile.is_masked(0, 1));
      CHECK_FALSE(tile.is_masked(6, 0));
      const attention::Tile before = tile_of(*run, whole(*run, kFirst, 0, head, Stage::Scaled));
      scaled.insert(scaled.end(), before.values.begin(), before.values.end());
      // The first query sees one key alone: m is its score, l is 1.
      CHECK(before.row_max[0] == before.values[0]);
      CHECK(before.row_sum[0] == 1.0F);
      const attention::Tile masked = tile_of(*run, whole(*run, kFirst, 0, head, Stage::Masked));
      CHECK(masked.values[1] == -std::numeric_limits<float>::infinity());
      CHECK(masked.values[7] == before.values[7]);
    }
    CHECK(deviation(weights, flatten(expected.at("weights"))).max_abs < 1e-7);  // 2.7e-8: a float's rounding
    CHECK(deviation(scaled, flatten(expected.at("scaled"))).max_abs < 5e-7);    // 1.2e-7
    CHECK(tile_of(*run, whole(*run, kFirst, 0, 3, Stage::K)).values ==
          tile_of(*run, whole(*run, kFirst, 0, 2, Stage::K)).values);
    CHECK(run->warning() == "");
    const attention::TileRequest values{.block = kFirst, .stage = Stage::V, .rows = 1, .columns = 1};
    CHECK(error_message([&] { (void)tile_of(*run, values); }) == "the capture has no v");
    attention::TileRequest outside = whole(*run, kFirst, 0, 4);
    CHECK(error_message([&] { (void)tile_of(*run, outside); }) == "the tile lies outside of weights");
  }

  TEST_CASE("W_O beside values is a weight of the layer, and one that doesn't fit is refused") {
    const TemporaryDirectory folder;
    const auto open = [&](std::vector<MadeTensor> more) {
      std::vector<MadeTensor> tensors{even("attention.0", {1, 2, 3, 3})};
      for (MadeTensor& tensor : more) tensors.push_back(std::move(tensor));
      return CaptureFile(write_capture(folder.path() / "c.safetensors", tensors));
    };
    const MadeTensor values{.name = "v.0", .shape = {1, 2, 3, 2}, .values = std::vector<float>(12, 1.0F)};
    const auto output = [](std::vector<std::uint32_t> shape) {
      return MadeTensor{.name = "o.0", .shape = shape, .values = std::vector<float>(std::size_t{shape[0]} * shape[1], 0.5F)};
    };
    const CaptureFile file = open({values, output({5, 4})});
    const auto& known = file.network()->layer(kFirst).given_output;
    REQUIRE(known);
    CHECK(known->weight.shape() == Shape{5, 4});
    CHECK(known->weight.tensor().values == std::vector<float>(20, 0.5F));
    CHECK_FALSE(open({values}).network()->layer(kFirst).given_output);
    const auto refusal = [&](const std::vector<MadeTensor>& more) {
      const std::string message = error_message([&] { (void)open(more); });
      return message.substr(std::min(message.find("'o.0'"), message.size()));
    };
    CHECK(refusal({output({5, 4})}) == "'o.0' has no values beside it, which it is multiplied with");
    CHECK(refusal({values, output({4, 5})}) == "'o.0' is [4, 5], but 2 heads of 2 values give [d_model, 4]");
    CHECK(refusal({values, output({0, 4})}) == "'o.0' is [0, 4], but 2 heads of 2 values give [d_model, 4]");
  }

  TEST_CASE("a hybrid's own numbers of its layers are told, and lists that are none refused") {
    const TemporaryDirectory folder;
    const auto open = [&](std::string_view layers) {
      return CaptureFile(write_capture(folder.path() / "c.safetensors",
                                       {even("attention.0", {1, 1, 2, 2}), even("attention.1", {1, 1, 2, 2})},
                                       fmt::format(R"("layers":"{}")", layers)));
    };
    CHECK(open("[4, 9]").note() == "Its layers are 4, 9 of the model: others have no attention.");
    CHECK(open("[4, 9]").blocks()[1].ref == model::BlockRef{.layer = {9}});
    CHECK(open("[4, 9]").network()->blocks()[1] == model::BlockRef{.layer = {9}});
    CHECK(open("[4, 9]").score({.layer = {1}}) == nullptr);
    CHECK(open("[0, 1]").note() == "");
    const auto refusal = [&](std::string_view layers) { return error_message([&] { (void)open(layers); }); };
    CHECK(refusal("[4]").find("layers: 1 numbers, but there are 2 layers; write one for each") != std::string::npos);
    CHECK(refusal("[9, 4]").find("[9,4] is no ascending list of layers") != std::string::npos);
    CHECK(refusal("[-1, 4]").find("is no ascending list of layers") != std::string::npos);
    CHECK(refusal("[1e99, 4]").find("is no ascending list of layers") != std::string::npos);
    CHECK(refusal("7").find("1 numbers, but there are 2 layers") != std::string::npos);
  }

  TEST_CASE("with values the heads' outputs are those of a vision transformer of transformers") {
    const auto run = open_run(golden_capture("vision_values.safetensors"));
    const nlohmann::json expected = golden("captures/vision_expected.json");
    std::vector<float> weights, heads;
    for (const model::BlockRef block : run->blocks()) {
      const attention::Tile merged = tile_of(*run, whole(*run, block, 0, 0, Stage::Merged));
      for (std::uint32_t head = 0; head < 4; ++head) {
        const attention::Tile map = tile_of(*run, whole(*run, block, 0, head));
        weights.insert(weights.end(), map.values.begin(), map.values.end());
        const attention::Tile mixed = tile_of(*run, whole(*run, block, 0, head, Stage::Heads));
        heads.insert(heads.end(), mixed.values.begin(), mixed.values.end());
        CHECK(mixed.masked.empty());
        for (std::uint32_t row = 0; row < 25; ++row) {
          for (std::uint32_t i = 0; i < 8; ++i) CHECK(merged.at(row, head * 8 + i) == mixed.at(row, i));
        }
      }
    }
    CHECK(deviation(weights, flatten(expected.at("weights"))).max_abs < 1e-6);  // 3.2e-7: q and k are rounded to float32
    CHECK(deviation(heads, flatten(expected.at("heads"))).max_abs < 6e-6);      // 1.9e-6, of numbers up to 9
    // A part of the merged heads that begins inside of one and ends inside of another.
    const attention::Tile part =
        tile_of(*run, {.block = kFirst, .stage = Stage::Merged, .row = 3, .rows = 2, .column = 5, .columns = 20});
    const attention::Tile all = tile_of(*run, whole(*run, kFirst, 0, 0, Stage::Merged));
    for (std::uint32_t row = 0; row < 2; ++row) {
      for (std::uint32_t i = 0; i < 20; ++i) CHECK(part.at(row, i) == all.at(3 + row, 5 + i));
    }
  }

  TEST_CASE("values that are shared by heads mix by each head's weights, and a key without weight has no part") {
    const TemporaryDirectory folder;
    const MadeTensor weights{
        .name = "attention.0", .shape = {1, 2, 2, 2}, .values = {1.0F, 0.0F, 0.25F, 0.75F, 0.5F, 0.5F, 1.0F, 0.0F}};
    const MadeTensor values{.name = "v.0", .shape = {1, 1, 2, 1}, .values = {2.0F, 10.0F}};
    const auto run = open_run(write_capture(folder.path() / "c.safetensors", {weights, values}));
    CHECK(tile_of(*run, whole(*run, kFirst, 0, 0, Stage::Heads)).values == std::vector<float>{2.0F, 8.0F});
    CHECK(tile_of(*run, whole(*run, kFirst, 0, 1, Stage::Heads)).values == std::vector<float>{6.0F, 2.0F});
    CHECK(tile_of(*run, whole(*run, kFirst, 0, 1, Stage::V)).values == values.values);
    CHECK(tile_of(*run, whole(*run, kFirst, 0, 0, Stage::Merged)).values == std::vector<float>{2.0F, 6.0F, 8.0F, 2.0F});
    MadeTensor odd = values;
    odd.values[1] = std::numeric_limits<float>::infinity();
    const auto other = open_run(write_capture(folder.path() / "o.safetensors", {weights, odd}));
    CHECK(tile_of(*other, whole(*other, kFirst, 0, 0, Stage::Heads)).values ==
          std::vector<float>{2.0F, std::numeric_limits<float>::infinity()});
  }

  TEST_CASE("a causal mask is the decoder's where there is an encoder, and hatches only weights that are 0") {
    const TemporaryDirectory folder;
    const auto run = open_run(write_capture(
        folder.path() / "c.safetensors",
        {even("encoder_q.0", {1, 1, 2, 2}), even("encoder_k.0", {1, 1, 2, 2}), even("decoder_q.0", {1, 1, 2, 2}),
         even("decoder_k.0", {1, 1, 2, 2}), even("cross_attention.0", {1, 1, 2, 2})},
        R"("mask":"causal")"));
    const model::BlockRef decoder{.kind = model::BlockKind::DecoderSelf}, cross{.kind = model::BlockKind::Cross};
    CHECK(tile_of(*run, whole(*run, kFirst, 0, 0)).values == std::vector<float>(4, 0.5F));
    CHECK(tile_of(*run, whole(*run, decoder, 0, 0)).values == std::vector<float>{1.0F, 0.0F, 0.5F, 0.5F});
    CHECK(tile_of(*run, whole(*run, decoder, 0, 0)).masked == std::vector<std::uint8_t>{0, 1, 0, 0});
    CHECK(tile_of(*run, whole(*run, cross, 0, 0)).masked == std::vector<std::uint8_t>(4, 0));

    MadeTensor made = even("attention.0", {1, 1, 4, 4});
    made.values[2] = made.values[3] = made.values[7] = 0.0F;
    const auto weights = open_run(write_capture(folder.path() / "w.safetensors", {made}, R"("mask":"causal")"));
    attention::TileRequest request = whole(*weights, kFirst, 0, 0);
    CHECK(tile_of(*weights, request).masked == std::vector<std::uint8_t>{0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0});
    request.pool = 2;
    CHECK(tile_of(*weights, request).masked == std::vector<std::uint8_t>{0, 0, 0, 0});
    request.row = request.column = 1;
    request.rows = request.columns = 3;
    CHECK(tile_of(*weights, request).masked == std::vector<std::uint8_t>{0, 0, 0, 0});
    request = {.block = kFirst, .row = 0, .rows = 2, .column = 3, .columns = 1, .pool = 2};
    CHECK(tile_of(*weights, request).masked == std::vector<std::uint8_t>{1});
    CHECK(tile_of(*weights, request).values == std::vector<float>{0.0F});
  }

  TEST_CASE("keys of padding are hidden from computed weights and hatched where saved ones are 0") {
    const TemporaryDirectory folder;
    const char* words = R"("mask":"causal","lengths":"[2, 3]","starts":"[2, 0]")";
    const auto run = open_run(
        write_capture(folder.path() / "q.safetensors", {even("q.0", {2, 1, 4, 4}), even("k.0", {2, 1, 4, 4})}, words));
    const attention::Tile left = tile_of(*run, whole(*run, kFirst, 0, 0)), right = tile_of(*run, whole(*run, kFirst, 1, 0));
    CHECK(left.values == std::vector<float>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0.5F, 0.5F});
    CHECK(left.masked == std::vector<std::uint8_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 0});
    CHECK(left.row_sum[1] == 0.0F);
    CHECK(left.row_max[1] == -std::numeric_limits<float>::infinity());
    constexpr float kThird = 1.0F / 3.0F;
    CHECK(right.values ==
          std::vector<float>{1, 0, 0, 0, 0.5F, 0.5F, 0, 0, kThird, kThird, kThird, 0, kThird, kThird, kThird, 0});
    CHECK(right.masked == std::vector<std::uint8_t>{0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1});
    attention::TileRequest coarse = whole(*run, kFirst, 0, 0);
    coarse.pool = 2;
    CHECK(tile_of(*run, coarse).masked == std::vector<std::uint8_t>{1, 1, 1, 0});
    coarse.pooling = attention::Pooling::Mean;
    coarse.stage = Stage::Masked;
    CHECK(tile_of(*run, coarse).values[3] == 0.125F);  // of visible cells alone: 4 · 0.25 · 0.25 / √4

    // Saved weights of padding are no weights: neither NaN nor sums of its rows are told.
    MadeTensor made = even("attention.0", {2, 1, 4, 4});
    for (std::size_t cell = 0; cell < 8; ++cell) made.values[cell] = std::numeric_limits<float>::quiet_NaN();
    for (const std::size_t cell : {8U, 9U, 12U, 13U}) made.values[cell] = 0.0F;
    for (const std::size_t cell : {10U, 11U, 14U, 15U}) made.values[cell] = 0.5F;
    const auto saved = open_run(write_capture(folder.path() / "w.safetensors", {made}, words));
    const attention::Tile tile = tile_of(*saved, whole(*saved, kFirst, 0, 0));
    CHECK(tile.masked == std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0});
    CHECK(saved->warning() == "");
    CHECK(tile_of(*saved, whole(*saved, kFirst, 1, 0)).values[15] == 0.25F);
    CHECK(saved->warning() == "");
  }

  TEST_CASE("scale, softcap, window, biases and sinks of a file are those of a plain loop in double precision") {
    const TemporaryDirectory folder;
    constexpr std::uint32_t kHeads = 2, kTokens = 7, kWidth = 3;
    Random random(5);
    const auto made = [&](const char* name, const Shape& shape, float size) {
      return MadeTensor{.name = name, .shape = shape, .values = random.tensor(shape, size).values};
    };
    std::vector<MadeTensor> tensors{made("q.0", {1, kHeads, kTokens, kWidth}, 2.0F),
                                    made("k.0", {1, kHeads, kTokens, kWidth}, 2.0F),
                                    made("bias.0", {1, kHeads, kTokens, kTokens}, 1.0F), made("sinks.0", {kHeads}, 1.0F)};
    tensors[2].values[3 * kTokens + 2] = -std::numeric_limits<float>::infinity();
    const auto cell = [&](std::size_t tensor, std::uint32_t head, std::uint32_t row, std::uint32_t column,
                          std::uint32_t width) {
      return double{tensors[tensor].values[(std::size_t{head} * kTokens + row) * width + column]};
    };
    for (const bool is_causal : {true, false}) {
      const std::string words =
          R"("scale":"0.7","softcap":"[1.5]","window":"3")" + std::string(is_causal ? R"(,"mask":"causal")" : "");
      const auto run = open_run(write_capture(folder.path() / "c.safetensors", tensors, words));
      double of_scores = 0.0, of_weights = 0.0;
      for (std::uint32_t head = 0; head < kHeads; ++head) {
        const attention::Tile scaled = tile_of(*run, whole(*run, kFirst, 0, head, Stage::Scaled));
        const attention::Tile masked = tile_of(*run, whole(*run, kFirst, 0, head, Stage::Masked));
        const attention::Tile weights = tile_of(*run, whole(*run, kFirst, 0, head));
        for (std::uint32_t row = 0; row < kTokens; ++row) {
          std::vector<double> scores(kTokens);
          double sum = std::exp(double{tensors[3].values[head]});
          for (std::uint32_t key = 0; key < kTokens; ++key) {
            double dot = 0.0;
            for (std::uint32_t i = 0; i < kWidth; ++i) dot += cell(0, head, row, i, kWidth) * cell(1, head, key, i, kWidth);
            scores[key] = 1.5 * std::tanh(0.7 * dot / 1.5) + cell(2, head, row, key, kTokens);
            const bool is_near = key > row ? !is_causal && key - row < 3 : row - key < 3;
            const std::size_t at = std::size_t{row} * kTokens + key;
            const bool is_visible = is_near && std::isfinite(scores[key]);
            CHECK(masked.is_masked(row, key) == !is_visible);
            CHECK(std::isinf(masked.values[at]) == !is_visible);
            if (std::isfinite(scores[key])) widen(of_scores, double{scaled.values[at]}, scores[key]);
            sum += is_visible ? std::exp(scores[key]) : 0.0;
            scores[key] = is_visible ? std::exp(scores[key]) : 0.0;
          }
          for (std::uint32_t key = 0; key < kTokens; ++key)
            widen(of_weights, double{weights.values[std::size_t{row} * kTokens + key]}, scores[key] / sum);
        }
        // A pooled square has the mean of what is visible: of rows 2 and 3 and keys 2 and 3 not (3, 2), which a bias hides.
        attention::TileRequest square = whole(*run, kFirst, 0, head, Stage::Masked);
        square.row = square.column = 2;
        square.rows = square.columns = square.pool = 2;
        square.pooling = attention::Pooling::Mean;
        const auto score = [&](std::uint32_t row, std::uint32_t key) {
          return double{masked.values[std::size_t{row} * kTokens + key]};
        };
        const double mean = is_causal ? (score(2, 2) + score(3, 3)) / 2 : (score(2, 2) + score(2, 3) + score(3, 3)) / 3;
        if (head == 0) CHECK(tile_of(*run, square).values[0] == doctest::Approx(mean).epsilon(1e-6));
      }
      CHECK(of_scores < 2e-7);   // 1.1e-7
      CHECK(of_weights < 6e-8);  // 3.0e-8: a float's rounding
      CHECK(run->warning() == "");
      CHECK(run->file().network()->layer(kFirst).config.softcap == 1.5F);
    }
  }

  TEST_CASE("rows of tokens that were in a cache are masked, whatever the file has") {
    const TemporaryDirectory folder;
    const char* words = R"("cached":"2","mask":"causal")";
    const MadeTensor made{.name = "attention.0", .shape = {1, 1, 1, 3}, .values = {0.5F, 0.25F, 0.25F}};
    const MadeTensor values{.name = "v.0", .shape = {1, 1, 3, 1}, .values = {2.0F, 4.0F, 8.0F}};
    const auto weights = open_run(write_capture(folder.path() / "w.safetensors", {made, values}, words));
    const auto computed = open_run(write_capture(
        folder.path() / "q.safetensors",
        {even("q.0", {1, 1, 1, 2}), {.name = "k.0", .shape = {1, 1, 3, 2}, .values = {1, 1, 1, 1, 1, 1}}, values}, words));
    const std::vector<std::uint8_t> masked{1, 1, 1, 1, 1, 1, 0, 0, 0};
    const attention::Tile saved = tile_of(*weights, whole(*weights, kFirst, 0, 0));
    CHECK(saved.values == std::vector<float>{0, 0, 0, 0, 0, 0, 0.5F, 0.25F, 0.25F});
    CHECK(saved.masked == masked);
    CHECK(saved.row_sum[1] == 0.0F);
    CHECK(weights->warning() == "");
    CHECK(tile_of(*weights, whole(*weights, kFirst, 0, 0, Stage::Heads)).values == std::vector<float>{0.0F, 0.0F, 4.0F});
    const attention::Tile made_tile = tile_of(*computed, whole(*computed, kFirst, 0, 0));
    CHECK(made_tile.masked == masked);
    CHECK(made_tile.values[5] == 0.0F);
    CHECK(made_tile.values[8] == 1.0F / 3.0F);
    CHECK(tile_of(*computed, whole(*computed, kFirst, 0, 0, Stage::Q)).values == std::vector<float>{0, 0, 0, 0, 0.5F, 0.5F});
    CHECK(tile_of(*computed, whole(*computed, kFirst, 0, 0, Stage::K)).values[0] == 1.0F);
    // A tile may be any part of the matrix.
    CHECK(tile_of(*weights, {.block = kFirst, .row = 1, .rows = 2, .column = 1, .columns = 2}).values ==
          std::vector<float>{0, 0, 0.25F, 0.25F});
  }
}

}  // namespace captured_scores_test
