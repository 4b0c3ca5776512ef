// The engine's queue of queries, without the engine: what is answered together, in which order, and what is dropped.
#include "app/engine/query_queue.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "app/engine/run_source.h"
#include "core/error.h"
#include "engine/fake_runner.h"

namespace query_queue_test {

using namespace headlight;
using namespace headlight::app;

namespace {

constexpr QueryBudget kPlenty{.cells = 1'000'000, .states = 1'000};

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
      EvaluationSubject subject = subject_of({.run = *run});
      subject.most_cells = step_cells;
      return note(name, quantity(query.quantity).evaluate(query, subject));
    });
  }
  QueryTask note(std::string name, Evaluation evaluation) {
    last = co_await std::move(evaluation);
    answered.push_back(name);
  }
  void answer(const QueryBudget& budget) { queue.answer_some({.run = *run}, budget); }

  std::shared_ptr<FakeLog> log = std::make_shared<FakeLog>();
  std::unique_ptr<FakeRun> run;
  QueryQueue queue;
  std::vector<std::string> answered;
  attention::Tile last;
  int begun = 0;
  std::size_t step_cells = EvaluationSubject().most_cells;
};

TileQuery of_head(std::uint32_t head) { return {.head = head, .rows = 7, .columns = 7}; }
TileQuery of_mean() { return {.quantity = kMeanOfLayer, .rows = 7, .columns = 7}; }

using Names = std::vector<std::string>;

/// Reads one tile of each of some changed passes; notes why one couldn't be computed.
QueryTask read_changed(std::vector<float> gains, std::vector<float>& read, std::string& failure) {
  try {
    for (const float gain : gains) {
      Reads reads{.tiles = {stage_request(of_head(0))}};
      reads.passes.push_back({{.scope = {}, .operation = inference::Scale{gain}}});
      const Answers answers = co_await std::move(reads);
      read.push_back(answers.tiles.front().values.front());
    }
  } catch (const Error& error) {
    failure = error.what();
  }
}

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
    desk.answer({.cells = 100, .states = 0});
    CHECK(desk.answered == Names{"selected"});  // also where the next one would have room
    CHECK(desk.queue.progress().total == 3);
    CHECK(desk.queue.progress().done == 1);
    desk.answer({.cells = 49, .states = 0});
    CHECK(desk.answered == Names{"selected", "b"});
    desk.answer({.cells = 1, .states = 0});  // at least one
    CHECK(desk.answered == Names{"selected", "b", "c"});
  }

  TEST_CASE("a query that is asked again goes on where it is, a cancelled one doesn't") {
    Desk desk;
    desk.step_cells = 49;  // of a mean a head at a time
    desk.ask("mean", of_mean(), QueryPriority::OnScreen, 0);
    desk.answer({.cells = 49, .states = 0});  // one of three heads
    CHECK(desk.answered.empty());
    desk.ask("mean", of_mean(), QueryPriority::Selected, 3);
    desk.ask("head", of_head(1), QueryPriority::OnScreen, 0);
    CHECK(desk.begun == 2);
    desk.queue.cancel([](const Query& query) { return query == Query(of_head(1)); });
    while (!desk.queue.is_empty()) desk.answer({.cells = 49, .states = 0});
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
      desk.queue.answer_some({.run = *desk.run, .baseline = desk.run.get()}, kPlenty);
    }
    CHECK(desk.queue.is_empty());
    CHECK(desk.answered.size() == 2);
    CHECK(desk.log->tiles >= 3);
  }

  TEST_CASE("a changed pass is read after what is on screen, never together with it, and its failure is told its task") {
    Desk desk;
    std::vector<float> read, computed;
    std::string failure;
    const ComputePasses compute = [&](const Reads& reads, std::uint32_t /*line*/, std::size_t /*most*/) {
      const float gain = std::get<inference::Scale>(reads.passes.front().front().operation).gain;
      if (gain < 0.0F) throw Error(ErrorKind::OutOfDeviceMemory, "no room");
      if (gain > 1.0F) throw Error(ErrorKind::Cancelled, "newer inputs wait");
      computed.push_back(gain);
      return ChangedPasses{.run = std::make_shared<FakeRun>(desk.run->inputs(), 7, desk.log,
                                                            std::make_shared<FakeDevice>(FakeDevice{"a test"}))};
    };
    const auto ask = [&](std::uint32_t head, std::vector<float> gains) {
      desk.queue.ask(of_head(head), QueryPriority::Background, head,
                     [&] { return read_changed(std::move(gains), read, failure); });
    };
    const auto answer = [&] { desk.queue.answer_some({.run = *desk.run}, kPlenty, compute); };
    ask(1, {0.0F, 0.5F});
    desk.ask("on screen", of_head(0), QueryPriority::OnScreen, 0);
    answer();
    CHECK(desk.answered == Names{"on screen"});
    CHECK(computed.empty());
    answer();
    CHECK(computed == std::vector<float>{0.0F});
    answer();
    CHECK(computed == std::vector<float>{0.0F, 0.5F});
    CHECK(read == std::vector<float>{7000.0F, 7000.0F});  // of the other run
    CHECK(desk.queue.is_empty());

    ask(2, {-1.0F});
    answer();
    CHECK(failure == "no room");
    CHECK(desk.queue.is_empty());
    ask(2, {2.0F});
    CHECK_THROWS_AS(answer(), Error);
    CHECK(desk.queue.is_empty());
    ask(2, {0.0F});
    CHECK_THROWS_AS(desk.answer(kPlenty), Error);  // nothing there computes one
  }
}

}  // namespace query_queue_test
