#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "app/engine/engine.h"
#include "engine/fake_runner.h"
#include "support/sanitizers.h"

namespace engine_test {

using namespace headlight;
using namespace headlight::app;

namespace {

const model::BlockRef kFirstLayer = {.kind = model::BlockKind::EncoderSelf, .layer = {0}};

RunInputs inputs_of(const std::string& text) {
  State state;
  state.text() = text;
  state.playground().settings.d_model = 16;
  state.playground().settings.heads = 4;
  return run_inputs(state);
}

TileQuery weights_of(std::uint32_t head, std::uint32_t tokens) {
  return {.quantity = attention::Stage::Weights,
          .block = kFirstLayer,
          .batch = 0,
          .head = head,
          .row = 0,
          .rows = tokens,
          .column = 0,
          .columns = tokens,
          .pool = 1};
}

/// An engine on a fake device.
struct Bench {
  std::shared_ptr<FakeLog> log = std::make_shared<FakeLog>();
  std::atomic<int> wakes{0};
  Engine engine;
  std::uint64_t revision = 0;

  explicit Bench(std::string device = "fake", std::size_t tile_bytes = std::size_t{1} << 20)
      : engine({.open = fake_factory(log),
                .device = std::move(device),
                .wake = [this] { ++wakes; },
                .tile_bytes = tile_bytes}) {}

  void request(const RunInputs& inputs, const std::vector<TileQuery>& tiles = {}) {
    engine.request({.revision = ++revision, .inputs = inputs, .queries = {tiles.begin(), tiles.end()}});
  }
  /// The worker calls wake() after it said that it is idle.
  bool was_woken(int times) const {
    for (int patience = 0; patience < 1000 && wakes < times; ++patience) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return wakes >= times;
  }
  EngineResult finish() {
    engine.wait_until_idle();
    std::optional<EngineResult> result = engine.poll();
    REQUIRE(result);
    return *result;
  }
};

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a request comes back as a run with its tokens, shapes and tiles") {
    Bench bench;
    bench.request(inputs_of("one two three"), {weights_of(2, 3)});
    const EngineResult result = bench.finish();
    CHECK(result.revision == 1);
    CHECK(result.run == 1);
    CHECK(result.error == "");
    CHECK(result.device == "fake");
    CHECK(result.timing.gpu_ms == 1.5);
    CHECK(result.parameter_count == result.network->parameter_count());
    CHECK(result.blocks.size() == 2);
    CHECK(result.shapes.at(kFirstLayer).keys == 3);
    CHECK(result.input->source.texts.at(0).at(1) == "two");
    CHECK(result.has_all_tiles);
    REQUIRE(result.tile(weights_of(2, 3)));
    CHECK(result.tile(weights_of(2, 3))->at(1, 2) == doctest::Approx(1201.02f));
    CHECK(result.is_current(weights_of(2, 3)));
    CHECK(result.tile(weights_of(3, 3)) == nullptr);
    CHECK(bench.was_woken(1));
    CHECK_FALSE(bench.engine.poll());
    CHECK_FALSE(bench.engine.is_busy());
  }

  TEST_CASE("only what changed is computed: tiles are remembered, runs happen when inputs differ") {
    Bench bench;
    bench.request(inputs_of("a b c"), {weights_of(0, 3), weights_of(0, 3)});
    bench.finish();
    CHECK(bench.log->tiles == 1);
    bench.request(inputs_of("a b c"), {weights_of(1, 3), weights_of(0, 3)});
    bench.finish();
    CHECK(bench.log->runs == 1);
    CHECK(bench.log->tiles == 2);
    RunInputs masked = inputs_of("a b c");
    masked.masks[model::BlockKind::EncoderSelf].rule.causal = true;
    bench.request(masked, {weights_of(0, 3)});
    const EngineResult result = bench.finish();
    CHECK(bench.log->runs == 2);
    CHECK(bench.log->uploads == 1);
    CHECK(bench.log->tiles == 3);
    CHECK(result.is_current(weights_of(0, 3)));
    CHECK(result.tile(weights_of(1, 3)) != nullptr);  // of the run before, so that nothing flickers
    CHECK_FALSE(result.is_current(weights_of(1, 3)));
  }

  TEST_CASE("a whole map follows the text's length, so that no frame is empty while the user types") {
    Bench bench;
    bench.request(inputs_of("a b"), {weights_of(0, 2)});
    bench.finish();
    bench.request(inputs_of("a b c"), {weights_of(0, 2)});  // laid out for the run that the caller knows
    const EngineResult result = bench.finish();
    CHECK(result.is_current(weights_of(0, 3)));
    CHECK(result.tile(weights_of(0, 2)) == nullptr);
    CHECK(result.has_all_tiles);
  }

  TEST_CASE("tiles of a run with other sizes are gone, and tiles outside their matrix are ignored") {
    Bench bench;
    bench.request(inputs_of("a b c"), {weights_of(0, 3)});
    bench.finish();
    bench.request(inputs_of("a b"), {weights_of(0, 3), weights_of(4, 2), weights_of(0, 2)});
    const EngineResult result = bench.finish();
    CHECK(result.tile(weights_of(0, 3)) == nullptr);
    CHECK(result.tile(weights_of(4, 2)) == nullptr);
    CHECK(result.is_current(weights_of(0, 2)));
    CHECK(result.has_all_tiles);
  }

  TEST_CASE("keystrokes whose result was not waited for are skipped") {
    Bench bench;
    bench.log->is_held = true;
    bench.request(inputs_of("a"), {weights_of(0, 1)});
    while (bench.log->runs < 1) std::this_thread::yield();
    for (int typed = 0; typed < 50; ++typed)
      bench.request(inputs_of("a b" + std::string(1, static_cast<char>('a' + typed % 26))));
    bench.request(inputs_of("the last one"), {weights_of(0, 3)});
    CHECK(bench.engine.is_busy());
    bench.log->is_held = false;
    bench.log->is_held.notify_all();
    const EngineResult result = bench.finish();
    CHECK(result.revision == 52);
    CHECK(result.input->source.texts.at(0).at(2) == "one");
    CHECK(bench.log->runs == 2);
  }

  TEST_CASE("many tiles come bit by bit, the most important first") {
    Bench bench;
    std::string text;
    for (int word = 0; word < 600; ++word) text += " w" + std::to_string(word);
    std::vector<TileQuery> tiles;
    for (std::uint32_t head = 0; head < 4; ++head) tiles.push_back(weights_of(3 - head, 600));
    bench.log->is_held = true;
    bench.request(inputs_of(text), tiles);
    while (bench.log->runs < 1) std::this_thread::yield();
    bench.log->is_held = false;
    bench.log->is_held.notify_all();
    const EngineResult result = bench.finish();
    CHECK(result.has_all_tiles);
    CHECK(bench.log->evaluations == 2);  // 360,000 cells at once, then the rest
    CHECK(bench.was_woken(2));
  }

  TEST_CASE("an error keeps the last good run, flagged, and the next good request clears it") {
    Bench bench;
    bench.request(inputs_of("good words"), {weights_of(0, 2)});
    bench.finish();
    bench.request(inputs_of("  \n "), {weights_of(1, 2)});
    EngineResult result = bench.finish();
    CHECK(result.error != "");
    CHECK(result.is_stale);
    CHECK(result.revision == 2);
    CHECK(result.run == 1);
    CHECK(result.input->source.texts.at(0).at(0) == "good");
    CHECK(result.is_current(weights_of(1, 2)));  // the run shown can still be looked at
    bench.request(inputs_of("good words"), {weights_of(0, 2)});
    result = bench.finish();
    CHECK(result.error == "");
    CHECK_FALSE(result.is_stale);
  }

  TEST_CASE("a device that fails says so in one line, and is asked again only for something else") {
    Bench bench;
    bench.log->fails_to_run = true;
    bench.request(inputs_of("a b"));
    CHECK(bench.finish().error == "the device can't hold it");
    bench.log->fails_to_run = false;
    bench.request(inputs_of("a b"), {weights_of(0, 2)});
    CHECK(bench.finish().error == "the device can't hold it");
    bench.request(inputs_of("a b c"));
    CHECK(bench.finish().error == "");
  }

  TEST_CASE("without a device every answer is the one clear line") {
    Bench bench("missing");
    bench.engine.wait_until_idle();
    bench.request(inputs_of("a"), {weights_of(0, 1)});
    const EngineResult result = bench.finish();
    CHECK(result.error == "no device \"missing\"");
    CHECK(result.run == 0);
    CHECK(result.device == "");
    CHECK_FALSE(result.is_stale);
  }

  TEST_CASE("another device keeps everything and computes it anew; one that isn't there changes nothing") {
    Bench bench;
    bench.request(inputs_of("a b"), {weights_of(0, 2)});
    bench.finish();
    bench.engine.set_device("other");
    EngineResult result = bench.finish();
    CHECK(result.device == "other");
    CHECK(result.run == 2);
    CHECK(result.is_current(weights_of(0, 2)));
    bench.engine.set_device("missing");
    result = bench.finish();
    CHECK(result.error == "no device \"missing\"");
    CHECK(result.device == "other");
    CHECK_FALSE(result.is_stale);
    bench.request(inputs_of("a b c"));
    CHECK(bench.finish().error == "");
    CHECK(bench.log->opened == 2);
  }

  TEST_CASE("the tile cache forgets what was wanted longest ago, never what is wanted now") {
    Bench bench("fake", 1);
    bench.request(inputs_of("a b"), {weights_of(0, 2), weights_of(1, 2)});
    EngineResult result = bench.finish();
    CHECK(result.tiles.size() == 2);
    bench.request(inputs_of("a b"), {weights_of(2, 2)});
    result = bench.finish();
    CHECK(result.tiles.size() == 1);
    CHECK(result.is_current(weights_of(2, 2)));
  }

// Sanitizers have an allocator of their own.
#if defined(__GLIBC__) && HEADLIGHT_HAS_ADDRESS_SANITIZER == 0 && HEADLIGHT_HAS_THREAD_SANITIZER == 0
  TEST_CASE("memory that nothing uses any more goes back to the system when there is nothing to do") {
    const auto resident_mib = [] {
      std::ifstream statm("/proc/self/statm");
      double pages = 0.0, resident = 0.0;
      statm >> pages >> resident;
      return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 0x1p20;
    };
    Bench bench;
    std::vector<std::unique_ptr<std::array<char, 1000>>> pieces(100'000);
    for (auto& piece : pieces) piece = std::make_unique<std::array<char, 1000>>();  // zeros: all pages are touched
    const std::unique_ptr<std::array<char, 1000>> last = std::move(pieces.back());  // malloc trims what is behind it
    const double in_use = resident_mib();
    pieces.clear();
    bench.request(inputs_of("one two three"), {weights_of(2, 3)});
    bench.finish();
    CHECK(resident_mib() > in_use - 20.0);
    double rested = resident_mib();
    for (int patience = 0; patience < 400 && rested > in_use - 80.0; ++patience) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      rested = resident_mib();
    }
    CHECK(rested <= in_use - 80.0);  // observed 93 MiB less, after 3 s
    CHECK(last->front() == 0);
    bench.request(inputs_of("one two"), {weights_of(2, 2)});  // and it works on
    CHECK(bench.finish().error == "");
  }
#endif

  TEST_CASE("an engine can go away while it works") {
    Bench bench;
    for (int round = 0; round < 20; ++round) bench.request(inputs_of("round " + std::to_string(round)));
  }

  TEST_CASE("a device lost in a run or in a tile is opened again, and the request is answered there") {
    Bench bench;
    bench.request(inputs_of("a b"), {weights_of(0, 2)});
    bench.finish();
    CHECK(bench.log->opened == 1);

    bench.log->lost_runs = 1;
    bench.request(inputs_of("a b c"), {weights_of(0, 3)});
    EngineResult result = bench.finish();
    CHECK(bench.log->opened == 2);
    CHECK(result.error.empty());
    CHECK_FALSE(result.is_stale);
    CHECK(result.reopenings == 1);
    CHECK(result.is_current(weights_of(0, 3)));

    bench.log->lost_evaluations = 1;
    bench.request(inputs_of("a b c"), {weights_of(0, 3), weights_of(1, 3), weights_of(2, 3)});
    result = bench.finish();
    CHECK(bench.log->opened == 3);
    CHECK(result.error.empty());
    CHECK(result.reopenings == 2);
    for (const std::uint32_t head : {0U, 1U, 2U}) CHECK(result.is_current(weights_of(head, 3)));
  }

  TEST_CASE("work that loses the device twice is given up in one line, and other work opens it again") {
    Bench bench;
    bench.request(inputs_of("a b"), {weights_of(0, 2)});
    bench.finish();
    bench.log->lost_runs = 2;
    bench.request(inputs_of("a b c"), {weights_of(0, 3)});
    EngineResult result = bench.finish();
    CHECK(result.error == "the device 'fake' was lost; it was opened again and lost again by the same work");
    CHECK(result.is_stale);
    CHECK(result.input->source.length == 2);  // the last good run is still there
    CHECK(bench.log->opened == 2);
    bench.request(inputs_of("a b c"), {weights_of(1, 3)});  // the same work, other tiles: not tried again
    result = bench.finish();
    CHECK_FALSE(result.error.empty());
    CHECK(bench.log->opened == 2);

    bench.request(inputs_of("d e"), {weights_of(0, 2)});
    result = bench.finish();
    CHECK(result.error.empty());
    CHECK_FALSE(result.is_stale);
    CHECK(bench.log->opened == 3);
    CHECK(result.is_current(weights_of(0, 2)));
  }

  TEST_CASE("a lost device that can't be opened again: the window says both, and a later request tries once more") {
    Bench bench;
    bench.request(inputs_of("a b"), {weights_of(0, 2)});
    bench.finish();
    bench.log->fails_to_open = true;
    bench.log->lost_runs = 1;
    bench.request(inputs_of("a b c"));
    EngineResult result = bench.finish();
    CHECK(result.error == "the device was lost, and opening it again failed: there is no such device");
    CHECK(result.is_stale);
    bench.request(inputs_of("a b c d"));
    CHECK_FALSE(bench.finish().error.empty());
    bench.log->fails_to_open = false;
    bench.request(inputs_of("a b c d e"), {weights_of(0, 5)});
    result = bench.finish();
    CHECK(result.error.empty());
    CHECK(result.is_current(weights_of(0, 5)));
  }
}

}  // namespace engine_test
