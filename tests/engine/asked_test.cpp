// Tasks of the engine that are of no request: what they read, when, and what ends them.
#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include "app/engine/analyses/analysis.h"
#include "app/engine/engine.h"
#include "engine/fake_runner.h"

namespace asked_test {

using namespace headlight;
using namespace headlight::app;

namespace {

RunInputs inputs_of(const std::string& text) {
  State state;
  state.text() = text;
  state.playground().settings.d_model = 16;
  state.playground().settings.heads = 4;
  return run_inputs(state);
}

TileQuery weights_of(std::uint32_t head, std::uint32_t tokens) {
  return {.block = {.kind = model::BlockKind::EncoderSelf, .layer = {0}}, .head = head, .rows = tokens, .columns = tokens};
}

std::shared_ptr<const NamedRun> named(const std::string& text) {
  return std::make_shared<const NamedRun>(NamedRun{.inputs = std::make_shared<const RunInputs>(inputs_of(text))});
}

/// The first cell of a head's weights in `count` steps, each told.
Task<std::vector<float>> read_cells(std::shared_ptr<const NamedRun> run, std::uint32_t count,
                                    AskedFor<std::vector<float>>::Tell tell) {
  std::vector<float> cells;
  for (std::uint32_t i = 0; i < count; ++i) {
    Reads reads{.named = run, .tiles = {stage_request(weights_of(i % 4, 3))}};
    const Answers answers = co_await std::move(reads);
    cells.push_back(answers.tiles.front().values.front());
    if (answers.subject->input->source.length != 3) throw Error("another run");
    tell(cells);
  }
  co_return cells;
}

struct Bench {
  std::shared_ptr<FakeLog> log = std::make_shared<FakeLog>();
  Engine engine{{.open = fake_factory(log), .device = "fake"}};

  Asked<std::vector<float>> ask(const std::string& text, std::uint32_t count) {
    return engine.ask<std::vector<float>>([run = named(text), count](AskedFor<std::vector<float>>::Tell tell) {
      return read_cells(run, count, std::move(tell));
    });
  }
  EngineResult request(const std::string& text, std::uint64_t revision) {
    engine.request({.revision = revision, .inputs = inputs_of(text), .queries = {weights_of(0, 2)}});
    engine.wait_until_idle();
    return *engine.poll();
  }
};

void wait_for(const std::function<bool()>& is_there) {
  for (int patience = 0; patience < 2000 && !is_there(); ++patience)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  REQUIRE(is_there());
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a task reads of the run that it names; the one on screen stays, and one that is there isn't computed again") {
    Bench bench;
    bench.request("a b", 1);
    const auto other = bench.ask("a b c", 4);
    bench.engine.wait_until_idle();
    REQUIRE(other.is_done());
    CHECK(*other.result() == std::vector<float>{2000, 2100, 2200, 2300});
    CHECK(bench.log->runs == 2);
    CHECK_FALSE(bench.engine.poll());  // nothing on screen is another
    bench.request("x y z", 2);
    const auto same = bench.ask("x y z", 1);
    bench.engine.wait_until_idle();
    CHECK(same.result()->front() == 3000);
    CHECK(bench.log->runs == 3);
  }

  TEST_CASE("a device lost in a task's step is opened again, and the task goes on where it was; the third time it ends") {
    Bench bench;
    bench.request("a b", 1);
    bench.log->lost_evaluations = 1;
    const auto asked = bench.ask("a b c", 4);
    bench.engine.wait_until_idle();
    REQUIRE(asked.is_done());
    CHECK(asked.error().empty());
    CHECK(asked.result()->size() == 4);
    CHECK(bench.log->opened == 2);
    EngineResult result = *bench.engine.poll();
    CHECK(result.error.empty());
    CHECK(result.reopenings == 1);
    CHECK(result.is_current(weights_of(0, 2)));

    bench.engine.request({.revision = 2, .inputs = inputs_of("a b")});
    bench.engine.wait_until_idle();
    bench.log->lost_evaluations = 3;  // of the task alone: the request reads nothing
    const auto again = bench.ask("a b c", 4);
    bench.engine.wait_until_idle();
    CHECK(again.error() == "the device 'fake' was lost");
    CHECK(bench.log->opened == 5);
    result = *bench.engine.poll();
    CHECK(result.error.empty());
    CHECK_FALSE(result.is_stale);
  }

  TEST_CASE("on another device a task begins again, so that all its numbers are of one") {
    Bench bench;
    bench.request("a b", 1);
    int told = 0;
    const auto asked =
        bench.engine.ask<std::vector<float>>([&bench, &told, run = named("a b c")](AskedFor<std::vector<float>>::Tell tell) {
          return read_cells(run, 4, [&bench, &told, tell](const std::vector<float>& cells) {
            if (++told == 2) bench.engine.set_device("other");
            tell(cells);
          });
        });
    bench.engine.wait_until_idle();
    CHECK(told == 2 + 4);
    CHECK(asked.error().empty());
    REQUIRE(asked.result()->size() == 4);
    for (std::size_t i = 0; i < 4; ++i)
      CHECK(asked.result()->at(i) == asked.result()->front() + 100.0F * static_cast<float>(i));
  }

  TEST_CASE("letting go of a task cancels it, also before it has begun, and in a long pass") {
    Bench bench;
    bench.request("a b", 1);
    bench.log->layers = 4;
    bench.log->is_pass_held = true;
    {
      const auto asked = bench.ask("a b c", 4);
      wait_for([&] { return bench.log->layers == 0; });
      const auto behind = bench.ask("a b c", 4);
      CHECK_FALSE(asked.result());
    }
    bench.engine.wait_until_idle();  // though the pass is still held
    CHECK(bench.log->runs == 1);
    bench.log->is_pass_held = false;
    const auto asked = bench.ask("a b c", 4);
    bench.engine.wait_until_idle();
    CHECK(asked.result()->size() == 4);
  }

  TEST_CASE("a request ends a task's pass, is answered, and the task goes on") {
    Bench bench;
    bench.request("a b", 1);
    bench.log->layers = 4;
    bench.log->is_pass_held = true;
    const auto asked = bench.ask("a b c", 4);
    wait_for([&] { return bench.log->layers == 0; });
    CHECK_FALSE(bench.engine.is_busy());
    bench.engine.request({.revision = 2, .inputs = inputs_of("d e"), .queries = {weights_of(0, 2)}});
    CHECK(bench.engine.wait_for(2, std::chrono::seconds(5)));
    const EngineResult result = *bench.engine.poll();
    CHECK(result.is_current(weights_of(0, 2)));
    bench.log->is_pass_held = false;
    bench.engine.wait_until_idle();
    CHECK(asked.result()->size() == 4);
  }

  TEST_CASE("a pass that requests cancel again and again goes on in the end, so that who types on gets its numbers") {
    Bench bench;
    bench.request("a b", 1);
    bench.log->is_pass_held = true;
    bench.log->layers = 4;
    const auto asked = bench.ask("a b c", 4);
    const auto type = [&](std::uint64_t revision) {
      wait_for([&] { return bench.log->layers == 0; });
      bench.log->layers = 4;
      bench.engine.request({.revision = revision, .inputs = inputs_of("a b"), .queries = {weights_of(0, 2)}});
    };
    for (const std::uint64_t revision : {2U, 3U, 4U}) {
      type(revision);
      CHECK(bench.engine.wait_for(revision, std::chrono::seconds(5)));
    }
    type(5);
    CHECK_FALSE(bench.engine.wait_for(5, std::chrono::milliseconds(50)));
    bench.log->layers = 0;
    bench.log->is_pass_held = false;
    bench.engine.wait_until_idle();
    CHECK(bench.log->runs == 2);
    CHECK(asked.result()->size() == 4);
  }

  TEST_CASE("of two tasks the newer one is answered first") {
    Bench bench;
    bench.request("a b", 1);
    bench.log->is_held = true;
    std::vector<int> order;
    const auto ask = [&](int number) {
      return bench.engine.ask<std::vector<float>>(
          [&order, number, run = named("a b c")](AskedFor<std::vector<float>>::Tell /*tell*/) {
            return read_cells(run, 2, [&order, number](const std::vector<float>&) { order.push_back(number); });
          });
    };
    const auto first = ask(1);
    wait_for([&] { return bench.log->runs == 2; });
    const auto second = ask(2);
    bench.log->is_held = false;
    bench.log->is_held.notify_all();
    bench.engine.wait_until_idle();
    CHECK(order == std::vector<int>{1, 2, 2, 1});
  }

  TEST_CASE("a run beside the one on screen has a device of its own, which is lost and closed without the other's notice") {
    Bench bench;
    bench.request("a b", 1);
    bench.log->lost_evaluations = 1;
    const auto beside = std::make_shared<const NamedRun>(
        NamedRun{.inputs = std::make_shared<const RunInputs>(inputs_of("a b c")), .is_beside = true});
    const auto asked = bench.engine.ask<std::vector<float>>(
        [beside](AskedFor<std::vector<float>>::Tell tell) { return read_cells(beside, 4, std::move(tell)); });
    bench.engine.wait_until_idle();
    CHECK(asked.error().empty());
    REQUIRE(asked.result()->size() == 4);
    CHECK(bench.log->opened == 3);
    CHECK_FALSE(bench.engine.poll());
    CHECK(bench.request("a b", 2).reopenings == 0);
    CHECK(bench.log->runs == 3);  // the one on screen, and two beside it
  }

  TEST_CASE("without a device, and in what it throws, a task ends with one line; what it told stays") {
    Bench bench;
    bench.request("a b", 1);
    const auto asked = bench.ask("a b", 1);  // of two tokens: its tile isn't inside
    bench.engine.wait_until_idle();
    CHECK(asked.is_done());
    CHECK(asked.error() == "another run");
    Engine none({.open = fake_factory(bench.log), .device = "none"});
    const auto nothing = none.ask<std::vector<float>>(
        [run = named("a b c")](AskedFor<std::vector<float>>::Tell tell) { return read_cells(run, 1, std::move(tell)); });
    none.wait_until_idle();
    CHECK(nothing.error() == "no device \"none\"");
  }
}

}  // namespace asked_test
