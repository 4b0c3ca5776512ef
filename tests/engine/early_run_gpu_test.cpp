// The first heatmap of a model whose later layers are still being loaded.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/engine/engine_worker.h"
#include "app/engine/gpu_runner.h"
#include "support/temporary_directory.h"

namespace early_run_gpu_test {

using namespace headlight;
using namespace headlight::app;

namespace {

const std::string kModels = std::string(HEADLIGHT_GOLDEN_DIR) + "/models/";

/// An engine without its thread on a real device, and what it shows before a model is loaded.
struct Desk {
  std::vector<EngineResult> early;
  std::vector<Query> newer;  ///< queries of a request that waits
  inference::LoadObserver watch = [](std::size_t, std::size_t) { return true; };
  GpuRunner* runner = nullptr;
  EngineWorker worker;
  std::uint64_t revision = 0;

  explicit Desk(double least_rest_ms = 0.0)
      : worker({.open =
                    [this](const std::string& device) {
                      auto opened = std::make_unique<GpuRunner>(device);
                      runner = opened.get();
                      return opened;
                    },
                .tile_bytes = std::size_t{64} << 20,
                .models = std::make_shared<ModelCache>(),
                .watch_load = [this](std::size_t done, std::size_t total) { return watch(done, total); },
                .show_early = [this](EngineResult result) { early.push_back(std::move(result)); },
                .newer_queries = [this] { return newer; },
                .least_rest_ms = least_rest_ms}) {
    worker.open("");
    REQUIRE(runner != nullptr);
  }

  EngineResult finish(EngineRequest request) {
    request.revision = ++revision;
    worker.begin(request);
    while (worker.has_more()) worker.evaluate_some();
    return worker.snapshot();
  }
};

EngineRequest request_for(const std::string& folder, const std::string& text) {
  State state;
  change_to_model(state, folder);
  state.text() = text;
  return {.inputs = run_inputs(state)};
}

/// Returns a request for a model without a tokenizer.
EngineRequest request_of_ids(const std::string& model) {
  EngineRequest request = request_for(kModels + model, "");
  std::get<Model>(request.inputs.source).ids = {{3, 1, 4, 1, 5, 9, 2, 6}};
  return request;
}

TileQuery map_of(std::uint32_t layer, std::uint32_t head, std::uint32_t tokens) {
  return {.block = {.layer = LayerIndex{layer}}, .head = head, .rows = tokens, .columns = tokens};
}

/// Checks that both tiles have the same numbers, bit by bit.
void check_same(const attention::Tile* early, const attention::Tile* final) {
  REQUIRE(early != nullptr);
  REQUIRE(final != nullptr);
  CHECK(early != final);
  CHECK_FALSE(early->values.empty());
  CHECK(early->values == final->values);
  CHECK(early->masked == final->masked);
  CHECK(early->row_max == final->row_max);
  CHECK(early->row_sum == final->row_sum);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("maps of the first layers come before the others are loaded, bit by bit those of the whole network") {
    for (const inference::Precision precision : {inference::Precision::F32, inference::Precision::F16}) {
      for (const std::string model : {"gpt2", "bert", "albert", "llama", "gemma2", "bloom", "opt-post-norm"}) {
        CAPTURE(model);
        Desk desk;
        EngineRequest request = request_of_ids(model);
        std::get<Model>(request.inputs.source).precision = precision;
        // The window learns the text's number of tokens from the first result.
        const EngineResult whole = desk.finish(request);
        REQUIRE(whole.error == "");
        REQUIRE(desk.early.size() == 1);
        const EngineResult& early = desk.early.front();
        CHECK(early.first_layers == 1);
        CHECK(whole.first_layers == 0);
        CHECK(early.run < whole.run);
        CHECK(early.shapes == whole.shapes);
        CHECK(early.blocks == whole.blocks);
        CHECK(early.has_logits == whole.has_logits);
        CHECK(early.parameter_count == whole.parameter_count);
        CHECK(early.input == whole.input);
        CHECK(early.device == whole.device);
        CHECK(early.tiles.empty());
        CHECK(desk.runner->context().validation_messages().empty());

        const std::uint32_t tokens = whole.input->source.length;
        Desk other;
        request.queries = {map_of(0, 0, tokens), map_of(0, 1, tokens), map_of(1, 0, tokens)};
        request.queries.emplace_back(PredictionQuery{.token = tokens - 1, .layer = 1});
        const EngineResult asked = other.finish(request);
        REQUIRE(asked.error == "");
        REQUIRE(other.early.size() == 1);
        CHECK(other.early.front().tiles.size() == 2);  // of the first layer alone
        CHECK(other.early.front().predictions.empty());
        CHECK(asked.has_all_tiles);
        for (std::uint32_t head = 0; head < 2; ++head) {
          const TileQuery query = map_of(0, head, tokens);
          CHECK(other.early.front().is_current(query));
          CHECK(asked.is_current(query));
          check_same(other.early.front().tile(query), asked.tile(query));
        }
      }
    }
  }

  TEST_CASE("a request that waits is answered between two pieces of the weights") {
    Desk desk;
    const EngineRequest request = request_for(kModels + "gpt2", "the cat sat");
    desk.newer = {map_of(0, 0, 3), map_of(1, 0, 3), map_of(0, 1, 3)};
    const EngineResult whole = desk.finish(request);
    REQUIRE(whole.error == "");
    REQUIRE(desk.early.size() == 2);  // what is there already isn't shown again
    CHECK(desk.early[0].tiles.empty());
    CHECK(desk.early[1].run == desk.early[0].run);
    CHECK(desk.early[1].tiles.size() == 2);
    CHECK(whole.tiles.size() == 2);  // on screen until the whole network's are there
    CHECK_FALSE(whole.is_current(map_of(0, 0, 3)));
  }

  TEST_CASE("only what pays is shown early, and only where half of the layers suffice") {
    Desk patient(1e6);
    EngineRequest request = request_for(kModels + "gpt2", "the cat sat");
    CHECK(patient.finish(request).error == "");
    CHECK(patient.early.empty());
    Desk desk;
    request.selected = {.layer = LayerIndex{1}};  // of two
    CHECK(desk.finish(request).error == "");
    CHECK(desk.early.empty());
    CHECK(desk.finish(request_for(kModels + "marian", "the cat sat")).error == "");  // which has two stacks
    CHECK(desk.early.empty());
    State state;
    change_to_model(state, kModels + "llama");
    set_head_gain(state, {}, 1, 0.5F);
    CHECK(desk.finish({.inputs = run_inputs(state)}).error == "");
    CHECK(desk.early.empty());
    request = request_of_ids("gemma2");
    request.selected = {.layer = LayerIndex{1}};  // of four
    CHECK(desk.finish(request).error == "");
    REQUIRE(desk.early.size() == 1);
    CHECK(desk.early.front().first_layers == 2);
  }

  TEST_CASE("a load that ends behind the first layers leaves what was there before") {
    Desk desk;
    EngineRequest before = request_for(kModels + "llama", "the cat sat");
    bool has_run_before = false;
    SUBCASE("nothing") {}
    SUBCASE("another model") { has_run_before = true; }
    if (has_run_before) {
      before.queries = {map_of(0, 0, 3)};
      REQUIRE(desk.finish(before).error == "");
      desk.early.clear();
    }
    const EngineResult kept = desk.worker.snapshot();
    std::string error;
    const auto check_failed = [&](const EngineResult& failed) {
      REQUIRE(desk.early.size() == 1);
      CHECK(desk.early.front().error == "");
      CHECK(failed.is_load_error);
      CHECK(failed.error.find(error) != std::string::npos);
      CHECK(failed.error.find('\n') == std::string::npos);
      CHECK(failed.run == kept.run);
      CHECK(failed.first_layers == 0);
      CHECK(failed.is_stale == has_run_before);
      CHECK(failed.model == kept.model);
      CHECK(failed.shapes == kept.shapes);
      CHECK(failed.tiles.size() == kept.tiles.size());
    };
    desk.watch = [&](std::size_t, std::size_t) { return desk.early.empty(); };
    error = "loading was cancelled";
    check_failed(desk.finish(request_for(kModels + "gpt2", "the cat sat")));
    // A failure of the later layers, after the first ones were shown, is reported, too.
    const TemporaryDirectory directory;
    const std::filesystem::path copy = directory.path() / "gpt2";
    std::filesystem::copy(kModels + "gpt2", copy);
    desk.early.clear();
    desk.watch = [&](std::size_t, std::size_t) {
      if (!desk.early.empty()) std::filesystem::resize_file(copy / "model.safetensors", 100);
      return true;
    };
    error = "model.safetensors was cut short while it was in use";
    check_failed(desk.finish(request_for(copy.string(), "the cat sat")));
    desk.early.clear();
    desk.watch = [](std::size_t, std::size_t) { return true; };
    const EngineResult loaded = desk.finish(request_for(kModels + "gpt2", "the cat sat on"));
    REQUIRE(desk.early.size() == 1);
    CHECK(loaded.error == "");
    CHECK(loaded.run > desk.early.front().run);
    CHECK(desk.runner->context().validation_messages().empty());
  }
}

}  // namespace early_run_gpu_test
