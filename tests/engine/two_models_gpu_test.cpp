// A run of another model as the one that is compared with.
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "app/shapes/quantities/quantity.h"
#include "core/file.h"
#include "engine/two_runs.h"
#include "support/retrained_model.h"
#include "support/temporary_directory.h"

namespace two_models_gpu_test {

using namespace headlight;
using namespace headlight::app;
namespace fs = std::filesystem;

namespace {

const Ids kSentence = {5, 9, 2, 7, 5, 9, 11};

void replace_in(const fs::path& path, const std::string& from, const std::string& to) {
  std::string text = read_file(path);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  write_file_atomically(path, text.replace(at, from.size(), to));
}

TileQuery weights_tile(QuantityId id) {
  return {.quantity = id, .block = encoder_block(1), .head = 2, .rows = 7, .columns = 7};
}

const attention::Tile& tile_of(const EngineResult& result, const TileQuery& query) {
  const auto found = result.tiles.find(query);
  REQUIRE(found != result.tiles.end());
  return *found->second.tile;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("two models with one tokenizer are compared: both runs' numbers are what each has alone") {
    const TemporaryDirectory folder;
    const fs::path other = test::retrained(test::copy_of_golden("gpt2", folder.path() / "other"));
    const State one = text_of("gpt2", kSentence), two = text_at(other.string(), kSentence);
    const TileQuery plain = weights_tile(attention::Stage::Weights),
                    baseline = weights_tile(baseline_of(attention::Stage::Weights)),
                    difference = weights_tile(difference_of(attention::Stage::Weights));
    TwoRuns alone;
    const EngineResult of_one = alone.ask(one, std::nullopt, {plain}), of_two = alone.ask(two, std::nullopt, {plain});
    TwoRuns runs;
    const EngineResult both = runs.ask(one, two, {plain, baseline, difference});
    REQUIRE(both.error == "");
    REQUIRE(both.baseline_error == "");
    const attention::Tile &a = tile_of(both, plain), &b = tile_of(both, baseline), &change = tile_of(both, difference);
    CHECK(a.values == tile_of(of_one, plain).values);
    CHECK(b.values == tile_of(of_two, plain).values);
    CHECK(a.values != b.values);
    for (std::size_t i = 0; i < a.values.size(); ++i) CHECK(change.values[i] == a.values[i] - b.values[i]);
    // The present model's weights are still there: the next token alone is computed.
    State longer = one;
    longer.model().ids.front().back() = 3;
    const EngineResult typed = runs.ask(longer, two, {plain, baseline});
    CHECK(typed.timing.reused_tokens == 6);
    CHECK(tile_of(typed, baseline).values == b.values);
    // The answer is the same the other way round.
    const EngineResult back = runs.ask(two, one, {plain, baseline});
    REQUIRE(back.baseline_error == "");
    CHECK(tile_of(back, plain).values == b.values);
    CHECK(tile_of(back, baseline).values == a.values);
  }

  TEST_CASE("a model that is replaced on disk is opened again with the next inputs, and isn't mixed with the baseline") {
    const TemporaryDirectory folder;
    const fs::path path = test::copy_of_golden("gpt2", folder.path() / "trained");
    const State first = text_at(path.string(), kSentence);
    State longer = first;
    longer.model().ids.front().back() = 3;
    const TileQuery plain = weights_tile(attention::Stage::Weights),
                    baseline = weights_tile(baseline_of(attention::Stage::Weights));
    TwoRuns runs;
    const EngineResult before = runs.ask(first, std::nullopt, {plain});
    test::retrained(path);
    // Nothing is asked anew: the numbers on screen stay.
    CHECK(tile_of(runs.ask(first, first, {plain}), plain).values == tile_of(before, plain).values);
    const EngineResult after = runs.ask(longer, first, {plain, baseline});
    CHECK(after.error == "");
    CHECK(after.model_changes == 1);
    CHECK(after.model != before.model);
    TwoRuns alone;
    CHECK(tile_of(after, plain).values == tile_of(alone.ask(longer, std::nullopt, {plain}), plain).values);
    CHECK(after.baseline_error == "the baseline's model has changed on disk since; keep a baseline again");
    CHECK_FALSE(after.tiles.contains(baseline));
    CHECK(runs.ask(longer, longer, {plain, baseline}).baseline_error == "");
    CHECK(runs.ask(first, longer, {plain, baseline}).baseline_error == "");
    CHECK(runs.ask(first, longer, {plain}).model_changes == 1);
  }

  TEST_CASE("a model that is written to while it is in use is opened again, too") {
    const TemporaryDirectory folder;
    const fs::path path = test::copy_of_golden("gpt2", folder.path() / "trained"), weights = path / "model.safetensors";
    const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
    fs::last_write_time(weights, long_ago);
    const State first = text_at(path.string(), kSentence);
    State longer = first;
    longer.model().ids.front().back() = 3;
    const TileQuery plain = weights_tile(attention::Stage::Weights);
    TwoRuns runs;
    REQUIRE(runs.ask(first, std::nullopt, {plain}).error == "");
    {
      const fs::path other = test::retrained(test::copy_of_golden("gpt2", folder.path() / "other"));
      std::ofstream(weights, std::ios::binary | std::ios::trunc) << read_file(other / "model.safetensors");
    }
    const EngineResult after = runs.ask(longer, std::nullopt, {plain});
    CHECK(after.error == "");
    CHECK(after.model_changes == 1);
    TwoRuns alone;
    CHECK(tile_of(after, plain).values == tile_of(alone.ask(longer, std::nullopt, {plain}), plain).values);
    // The file is half written: the line says so, and the next inputs try again.
    const std::string whole = read_file(weights);
    fs::resize_file(weights, whole.size() / 2);
    const EngineResult broken = runs.ask(first, std::nullopt, {plain});
    CHECK(broken.is_stale);
    CHECK(broken.error.find("model.safetensors") != std::string::npos);
    CHECK(runs.ask(text_of("gpt2", kSentence), std::nullopt, {plain}).error == "");  // another model isn't concerned
    CHECK(runs.ask(first, std::nullopt, {plain}).error.find("model.safetensors") != std::string::npos);
    std::ofstream(weights, std::ios::binary | std::ios::trunc) << whole;
    CHECK(runs.ask(longer, std::nullopt, {plain}).error == "");
  }

  TEST_CASE("opening the same model again looks for changes on disk") {
    const TemporaryDirectory folder;
    const fs::path path = test::copy_of_golden("gpt2", folder.path() / "trained");
    ModelCache models;
    const auto opened = models.open(path);
    CHECK(models.open_newest(path) == opened);
    CHECK_FALSE(models.has_changed(path, *opened));
    test::retrained(path);
    CHECK(models.has_changed(path, *opened));
    CHECK(models.open(path) == opened);
    const auto newest = models.open_newest(path);
    CHECK(newest != opened);
    CHECK(models.open(path) == newest);
    CHECK(models.has_changed(path, *opened));
    CHECK_FALSE(models.has_changed(path, *newest));
    fs::remove_all(path);
    CHECK_FALSE(models.has_changed(path, *newest));  // which is in memory still
  }

  TEST_CASE("models that can't be compared are refused in a line, and the present one stays") {
    const TemporaryDirectory folder;
    const State one = text_of("gpt2", kSentence);
    const TileQuery plain = weights_tile(attention::Stage::Weights);
    TwoRuns runs;
    const auto refusal = [&](const std::string& path) {
      const EngineResult result = runs.ask(one, text_at(path, kSentence), {plain});
      CHECK(result.error == "");
      CHECK(result.tiles.contains(plain));
      return result.baseline_error;
    };
    const std::string models = std::string(HEADLIGHT_GOLDEN_DIR) + "/models/";
    CHECK(refusal(models + "bert") == "the baseline is of a model with another tokenizer");
    const fs::path heads = test::copy_of_golden("gpt2", folder.path() / "heads");
    replace_in(heads / "config.json", "\"n_head\": 6", "\"n_head\": 3");
    CHECK(refusal(heads.string()) == "the baseline is of a model with other layers, heads or widths");
    const fs::path tokens = test::copy_of_golden("gpt2", folder.path() / "tokens");
    replace_in(tokens / "tokenizer.json", "\"!\": 1,", "\"\\u00bf\": 1,");
    CHECK(refusal(tokens.string()) == "the baseline is of a model with another tokenizer");
    State halves = one;
    halves.model().precision = inference::Precision::F16;
    CHECK(runs.ask(one, halves, {plain}).baseline_error == "the baseline has f16 weights, this run f32");
    CHECK(runs.ask(one, text_of("gpt2", kSentence), {plain}).baseline_error == "");
  }
}

}  // namespace two_models_gpu_test
