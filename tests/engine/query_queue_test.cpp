// The engine's queue of queries, without the engine: what is answered together, in which order, and what is dropped.
#include "app/engine/query_queue.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "app/engine/run_source.h"
#include "core/error.h"
#include "engine/fake_runner.h"

using namespace headlight;
using namespace headlight::app;

namespace {

constexpr QueryTask::Cost kPlenty{.cells = 1'000'000, .logits = 1'000'000};

/// A run of seven tokens with three heads, and a queue whose answers are noted by name.
struct Desk {
  Desk() {
    State state;
    state.text() = "one two three four five six seven";
    state.playground().settings.d_model = 12;
    state.playground().settings.heads = 3;
    RunSource sources;
    const RunSource::Source& source = sources.build(run_inputs(state));
    run = std::make_unique<FakeRun>(inference::PassInputs{.network = source.network, .input = *source.input}, 1, log,
                                    std::make_shared<FakeDevice>(FakeDevice{"a test"}));
  }

  void ask(const std::string& name, const TileQuery& query, QueryPriority priority, std::size_t position) {
    queue.ask(query, priority, position, [&] {
      ++begun;
      return make_tile_task(query, subject_of({.run = *run}), [this, name](const attention::Tile& tile) {
        answered.push_back(name);
        last = tile;
      });
    });
  }
  void answer(const QueryTask::Cost& budget) { queue.answer_some({.run = *run}, budget); }

  std::shared_ptr<FakeLog> log = std::make_shared<FakeLog>();
  std::unique_ptr<FakeRun> run;
  QueryQueue queue;
  std::vector<std::string> answered;
  attention::Tile last;
  int begun = 0;
};

TileQuery of_head(std::uint32_t head) { return {.head = head, .rows = 7, .columns = 7}; }
TileQuery of_mean() { return {.quantity = kMeanOfLayer, .rows = 7, .columns = 7}; }

using Names = std::vector<std::string>;

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("what fits into the budget is answered at once, in the order of priority and position") {
    Desk desk;
    desk.ask("later", of_head(2), QueryPriority::Background, 0);
    desk.ask("second", of_head(1), QueryPriority::OnScreen, 2);
    desk.ask("first", of_head(0), QueryPriority::OnScreen, 1);
    desk.ask("selected", of_mean(), QueryPriority::Selected, 7);
    CHECK(desk.queue.progress().done == 0);
    CHECK(desk.queue.progress().total == 4);
    desk.answer(kPlenty);
    CHECK(desk.answered == Names{"selected", "first", "second"});
    CHECK(desk.log->evaluations == 1);
    CHECK(desk.queue.progress().done == 3);
    desk.answer(kPlenty);  // what may wait is never answered together with what is on screen
    CHECK(desk.answered == Names{"selected", "first", "second", "later"});
    CHECK(desk.log->evaluations == 2);
    CHECK(desk.queue.is_empty());
    CHECK(desk.queue.progress().done == 4);
  }

  TEST_CASE("what doesn't fit is answered by priority, some at a time") {
    Desk desk;
    desk.ask("b", of_head(1), QueryPriority::OnScreen, 1);
    desk.ask("c", of_head(2), QueryPriority::OnScreen, 2);
    desk.ask("selected", of_head(0), QueryPriority::Selected, 0);
    desk.answer({.cells = 100, .logits = 0});
    CHECK(desk.answered == Names{"selected"});  // also where the next one would have room
    CHECK(desk.queue.progress().total == 3);
    CHECK(desk.queue.progress().done == 1);
    desk.answer({.cells = 49, .logits = 0});
    CHECK(desk.answered == Names{"selected", "b"});
    desk.answer({.cells = 1, .logits = 0});  // at least one
    CHECK(desk.answered == Names{"selected", "b", "c"});
  }

  TEST_CASE("a query that is asked again goes on where it is, a cancelled one doesn't") {
    Desk desk;
    desk.ask("mean", of_mean(), QueryPriority::OnScreen, 0);
    desk.answer({.cells = 49, .logits = 0});  // one of three heads
    CHECK(desk.answered.empty());
    desk.ask("mean", of_mean(), QueryPriority::Selected, 3);
    desk.ask("head", of_head(1), QueryPriority::OnScreen, 0);
    CHECK(desk.begun == 2);
    desk.queue.cancel([](const Query& query) { return query == Query(of_head(1)); });
    while (!desk.queue.is_empty()) desk.answer({.cells = 49, .logits = 0});
    CHECK(desk.answered == Names{"mean"});
    CHECK(desk.log->tiles == 3);
    CHECK(desk.last.values.front() == doctest::Approx(1100.0F));  // of heads with 1000, 1100 and 1200
  }

  TEST_CASE("a failure empties the queue") {
    Desk desk;
    desk.log->lost_evaluations = 1;
    desk.ask("a", of_head(0), QueryPriority::OnScreen, 0);
    desk.ask("b", of_head(1), QueryPriority::OnScreen, 1);
    CHECK_THROWS_AS(desk.answer(kPlenty), Error);
    CHECK(desk.queue.is_empty());
    CHECK(desk.answered.empty());
  }

  TEST_CASE("differences need a second run, and are steps of their own beside other tiles") {
    Desk desk;
    const TileQuery difference{.quantity = difference_of(attention::Stage::Weights), .rows = 7, .columns = 7};
    desk.ask("difference", difference, QueryPriority::OnScreen, 0);
    const auto answer_all = [&] {
      while (!desk.queue.is_empty()) desk.answer(kPlenty);
    };
    CHECK_THROWS_AS(answer_all(), Error);
    desk.ask("difference", difference, QueryPriority::OnScreen, 0);
    desk.ask("head", of_head(1), QueryPriority::OnScreen, 1);
    for (int step = 0; step < 10 && !desk.queue.is_empty(); ++step) {
      desk.queue.answer_some({.run = *desk.run, .reference = desk.run.get()}, kPlenty);
    }
    CHECK(desk.queue.is_empty());
    CHECK(desk.answered.size() == 2);
    CHECK(desk.log->tiles >= 3);
  }
}
