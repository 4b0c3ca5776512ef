// The cost of a keystroke on the device, from the request to everything on screen.
#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/engine/engine_worker.h"
#include "app/engine/gpu_runner.h"
#include "gpu/buffer.h"
#include "support/gpu.h"

namespace keystroke_gpu_test {

using namespace headlight;
using namespace headlight::app;

namespace {

/// An engine without its thread on a device that a test can look at.
struct Desk {
  GpuRunner* runner = nullptr;
  EngineWorker worker{{.open =
                           [this](const std::string& device) {
                             auto opened = std::make_unique<GpuRunner>(device);
                             runner = opened.get();
                             return opened;
                           },
                       .tile_bytes = std::size_t{64} << 20,
                       .models = std::make_shared<ModelCache>(),
                       .watch_load = {}}};
  std::uint64_t revision = 0;

  Desk() {
    worker.open("");
    REQUIRE(runner != nullptr);
  }

  /// Asks as the window does: for the selected map, a thumbnail of each head, and the last token's predictions.
  EngineResult type(const std::string& text) {
    State state;
    change_to_model(state, std::string(HEADLIGHT_GOLDEN_DIR) + "/models/gpt2");
    state.text() = text;
    worker.begin({.revision = ++revision, .inputs = run_inputs(state)});
    const EngineResult run = worker.snapshot();
    REQUIRE(run.error == "");
    EngineRequest request{.revision = ++revision, .inputs = run_inputs(state)};
    for (const auto& [block, shape] : run.shapes) {
      for (std::uint32_t head = 0; head < shape.heads; ++head) {
        request.queries.emplace_back(TileQuery{.block = block, .head = head, .rows = shape.queries, .columns = shape.keys});
      }
    }
    const auto layers = static_cast<std::uint32_t>(run.network->layers->encoder.size());
    request.queries.emplace_back(PredictionQuery{.token = run.input->source.length - 1, .layer = layers});
    worker.begin(request);
    while (worker.has_more()) worker.evaluate_some();
    return worker.snapshot();
  }
};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("a keystroke allocates nothing and is two submissions: the pass, and everything on screen") {
    Desk desk;
    const std::string text = "the cat sat on the mat";
    for (int i = 0; i < 2; ++i) {
      desk.type(text);
      desk.type(text + " a");
    }
    gpu::Context& context = desk.runner->context();
    for (int i = 0; i < 6; ++i) {
      const gpu::MemoryCalls calls = context.memory_calls();
      const std::uint64_t recordings = context.recordings_created();
      // A submission pauses for functions of the host where the device is a processor; it counts once.
      const auto submissions = [&] { return context.submissions() - context.host_waits(); };
      const std::uint64_t before = submissions();
      const EngineResult result = desk.type(i % 2 == 0 ? text : text + " a");
      CHECK(result.has_all_tiles);
      CHECK(result.predictions.size() == 1);
      CHECK(result.tiles.size() >= 4);
      CHECK(context.memory_calls() == calls);
      CHECK(context.recordings_created() == recordings);
      CHECK(submissions() - before <= 2);
    }
    CHECK(context.validation_messages().empty());
  }

  TEST_CASE("after a rest no device memory waits for what is gone, and the next keystroke is the same") {
    Desk desk;
    const std::string text = "the cat sat on the mat";
    const EngineResult before = desk.type(text);
    gpu::Context& context = desk.runner->context();
    constexpr std::size_t kLarge = std::size_t{14} << 20;  // as of a longer text's run
    static_cast<void>(gpu::Buffer(context, kLarge, gpu::Memory::Device, "a test"));
    const std::size_t held = context.allocated_bytes(), reserved = context.reserved_bytes();
    desk.worker.give_back_unused_memory();
    CHECK(context.allocated_bytes() == held);
    CHECK(context.reserved_bytes() >= held);
    CHECK(context.reserved_bytes() + kLarge <= reserved);
    desk.runner->session().forget_unused_kernels(std::chrono::seconds(0));
    desk.type("dogs run far away");  // of which the next pass can take nothing over
    const EngineResult after = desk.type(text);
    CHECK(after.tiles.size() == before.tiles.size());
    for (const auto& [query, known] : before.tiles) {
      REQUIRE(after.tile(query));
      CHECK(after.tile(query)->values == known.tile->values);
    }
    CHECK(context.validation_messages().empty());
  }

  TEST_CASE("a changed gain evaluates no tile of the layers before it again") {
    Desk desk;
    State state;
    change_to_model(state, std::string(HEADLIGHT_GOLDEN_DIR) + "/models/gpt2");
    state.text() = "the cat sat on the mat";
    const auto request = [&] {
      EngineRequest wanted{.revision = ++desk.revision, .inputs = run_inputs(state)};
      for (std::uint32_t layer = 0; layer < 2; ++layer) {
        wanted.queries.emplace_back(TileQuery{.block = {.layer = LayerIndex{layer}}, .rows = 6, .columns = 6});
      }
      return wanted;
    };
    desk.worker.begin(request());
    desk.worker.begin(request());
    while (desk.worker.has_more()) desk.worker.evaluate_some();
    const EngineResult before = desk.worker.snapshot();
    REQUIRE(before.error == "");
    REQUIRE(before.has_all_tiles);
    set_head_gain(state, {.layer = LayerIndex{1}}, 0, 0.0F);
    desk.worker.begin(request());
    std::vector<TileQuery> tiles;
    for (const Query& query : request().queries) tiles.push_back(std::get<TileQuery>(query));
    CHECK(desk.worker.snapshot().is_current(tiles[0]));
    CHECK_FALSE(desk.worker.snapshot().is_current(tiles[1]));
    while (desk.worker.has_more()) desk.worker.evaluate_some();
    const EngineResult after = desk.worker.snapshot();
    CHECK(after.run == before.run + 1);
    CHECK(after.tile(tiles[0]) == before.tile(tiles[0]));  // the very same
    CHECK(after.is_current(tiles[1]));
  }
}

}  // namespace keystroke_gpu_test
