// Translations that an encoder–decoder writes by itself: on the engine's thread, never in the state.
#include <algorithm>

#include <doctest/doctest.h>

#include "app/engine/engine_worker.h"
#include "app/engine/run_source.h"
#include "app/engine/translation.h"
#include "engine/fake_runner.h"
#include "engine/reference_runner.h"
#include "inference/decoding.h"

namespace translation_test {

using namespace headlight;
using namespace headlight::app;

namespace {

const std::string kMarian = std::string(HEADLIGHT_GOLDEN_DIR) + "/models/marian";

State marian_state(const std::string& text) {
  State state;
  state.text() = text;
  change_to_model(state, kMarian);
  return state;
}

EngineWorker make_worker(RunnerFactory open) {
  EngineWorker worker({.open = std::move(open),
                       .tile_bytes = std::size_t{1} << 20,
                       .models = std::make_shared<ModelCache>(),
                       .watch_load = {}});
  worker.open("");
  return worker;
}

EngineResult finish(EngineWorker& worker, const State& state) {
  worker.begin({.revision = 1, .inputs = run_inputs(state)});
  while (worker.has_more()) worker.evaluate_some();
  return worker.snapshot();
}

std::vector<std::uint32_t> target_ids(const EngineResult& result, std::uint32_t item) {
  std::vector<std::uint32_t> ids;
  for (const text::Token& token : result.prompt->target_tokens.at(item)) ids.push_back(token.id);
  return ids;
}

/// The likeliest token behind `ids`, computed from the start by a runner of its own; nothing where the text ends.
std::optional<std::uint32_t> next_of(State state, std::vector<std::uint32_t> ids) {
  state.model().target_ids = {std::move(ids)};
  RunSource source;
  const RunSource::Source built = source.build(run_inputs(state));
  const ReferenceRun run({.network = built.network, .input = *built.input, .masks = state.masks, .interventions = {}});
  const inference::StateRef last{
      .batch = 0, .token = built.input->target->length - 1, .layer = predicting_layers(*built.network)};
  Tensor logits = run.logits(std::vector{last});
  for (const std::uint32_t id : inference::suppressed_tokens(*built.model)) logits.values[id] = -1e30F;
  const auto best = static_cast<std::uint32_t>(std::ranges::max_element(logits.values) - logits.values.begin());
  const std::vector<std::uint32_t> ends = inference::end_tokens(*built.model);
  return std::ranges::find(ends, best) == ends.end() ? std::optional(best) : std::nullopt;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("each token of a translation is the likeliest behind those before it, until the model ends or has no room") {
    const State state = marian_state("a b");
    EngineWorker worker = make_worker(open_reference_runner);
    const EngineResult result = finish(worker, state);
    REQUIRE(result.error == "");
    REQUIRE(result.translated);
    CHECK(result.translated->is_done);
    REQUIRE(result.translated->lines.size() == 1);
    const std::vector<std::uint32_t> ids = target_ids(result, 0);
    REQUIRE(ids.size() > 1);
    for (std::size_t known = 1; known < std::min<std::size_t>(ids.size(), 6); ++known) {
      CHECK(next_of(state, {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(known)}) == ids[known]);
    }
    CHECK((result.translated->was_cut || next_of(state, ids) == std::nullopt));
    // The maps are those of the whole translation, and its tokens know their characters.
    CHECK(result.shapes.at({.kind = model::BlockKind::Cross, .layer = {0}}).queries == ids.size());
    const std::vector<text::Token>& tokens = result.prompt->target_tokens.front();
    CHECK(tokens.front().is_special);
    CHECK(tokens.back().bytes.end == result.translated->lines.front().size());
  }

  TEST_CASE("a keystroke gives the translation up, and the new one is of the new text alone") {
    const auto log = std::make_shared<FakeLog>();
    log->run_ms = 8;  // three tokens or so between two looks at the window
    EngineWorker worker = make_worker(fake_factory(log));
    const State first = marian_state("a b");
    worker.begin({.revision = 1, .inputs = run_inputs(first)});
    worker.evaluate_some();
    REQUIRE(worker.has_more());
    const EngineResult early = worker.snapshot();
    REQUIRE(early.translated);
    CHECK_FALSE(early.translated->is_done);
    CHECK(early.input->target->length > 1);
    const State second = marian_state("a b c");
    const int runs = log->runs;
    worker.begin({.revision = 2, .inputs = run_inputs(second)});
    EngineResult news = worker.snapshot();
    CHECK(log->runs == runs + 1);
    CHECK(std::get<Model>(news.inputs->source).text == "a b c");
    CHECK(news.input->target->length == 1);
    CHECK(news.translated->lines == std::vector<std::string>{""});
    log->run_ms = 0;
    while (worker.has_more()) worker.evaluate_some();
    news = worker.snapshot();
    CHECK(std::get<Model>(news.inputs->source).text == "a b c");
    CHECK(news.translated->is_done);
  }

  TEST_CASE("the same request again, with other tiles, goes on where the translation was") {
    const auto log = std::make_shared<FakeLog>();
    log->run_ms = 8;
    EngineWorker worker = make_worker(fake_factory(log));
    const EngineRequest request{.revision = 1, .inputs = run_inputs(marian_state("a b"))};
    worker.begin(request);
    worker.evaluate_some();
    REQUIRE(worker.has_more());
    const int runs = log->runs;
    EngineRequest again = request;
    again.revision = 2;
    TileQuery whole{.quantity = attention::Stage::Weights,
                    .block = {.kind = model::BlockKind::Cross, .layer = {0}},
                    .rows = worker.snapshot().input->target->length,
                    .columns = worker.snapshot().input->source.length};
    const std::uint32_t rows = whole.rows;
    again.queries = {whole};
    again.laid_out_for = worker.snapshot().shapes;
    worker.begin(again);
    CHECK(log->runs == runs);
    log->run_ms = 0;
    while (worker.has_more()) worker.evaluate_some();
    const EngineResult result = worker.snapshot();
    CHECK(result.translated->is_done);
    // The tile grew with the target: whoever asked for the whole map has the whole map.
    whole.rows = result.input->target->length;
    CHECK(whole.rows > rows);
    CHECK(result.is_current(whole));
  }

  TEST_CASE("a target that the user gives is taken as it is") {
    const auto log = std::make_shared<FakeLog>();
    EngineWorker worker = make_worker(fake_factory(log));
    State state = marian_state("a b");
    state.model().target_text = std::string("b");
    CHECK_FALSE(finish(worker, state).translated);
    state.model().target_text.clear();
    state.model().target_ids = {{1, 2}};
    CHECK_FALSE(finish(worker, state).translated);
    state.model().target_ids.clear();
    CHECK(finish(worker, state).translated);
    state.model().translates = false;
    CHECK_FALSE(finish(worker, state).translated);
  }

  TEST_CASE("a text that can't be run has no translation of its own") {
    const auto log = std::make_shared<FakeLog>();
    EngineWorker worker = make_worker(fake_factory(log));
    CHECK(finish(worker, marian_state("a b")).translated->is_done);
    const EngineResult empty = finish(worker, marian_state(" \n "));
    CHECK(empty.error != "");
    CHECK(empty.is_stale);
    CHECK(std::get<Model>(empty.inputs->source).text == "a b");  // whose translation it is
    std::string long_text;
    for (int i = 0; i < 3000; ++i) long_text += "a b ";
    const EngineResult endless = finish(worker, marian_state(long_text));
    CHECK(endless.error.find("shorten it") != std::string::npos);
    CHECK(endless.error.find('\n') == std::string::npos);
    State other;
    other.text() = std::string("one two");
    const EngineResult playground = finish(worker, other);
    CHECK(playground.error == "");
    CHECK_FALSE(playground.translated);
  }

  TEST_CASE("lines of a batch are translated together, and stand beside their source's lines") {
    EngineWorker worker = make_worker(open_reference_runner);
    State state = marian_state("a b\n\nb");
    const EngineResult result = finish(worker, state);
    REQUIRE(result.translated);
    REQUIRE(result.translated->lines.size() == 2);
    const std::vector<std::string>& lines = result.translated->lines;
    CHECK(target_text(state, lines) == lines[0] + "\n\n" + lines[1]);
    CHECK(finish(worker, marian_state("b")).translated->lines.front() == lines[1]);
    take_over_translation(state, result.translated.get());
    CHECK(state.model().target_text == lines[0] + "\n\n" + lines[1]);
    CHECK_FALSE(state.model().translates);
  }

  TEST_CASE("what is exported is what is on screen") {
    EngineWorker worker = make_worker(open_reference_runner);
    const State state = marian_state("a b");
    const EngineResult result = finish(worker, state);
    const RunInputs inputs = inputs_on_screen(state, result);
    REQUIRE(std::get<Model>(inputs.source).target_ids.size() == 1);
    CHECK(std::get<Model>(inputs.source).target_ids.front() == target_ids(result, 0));
    State other = state;
    other.text() = std::string("b");
    CHECK(std::get<Model>(inputs_on_screen(other, result).source).target_ids.empty());
  }
}

}  // namespace translation_test
