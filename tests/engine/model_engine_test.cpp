// Models on the engine's thread: loading, giving up, lines, predictions.
#include <doctest/doctest.h>

#include "app/engine/continuation.h"
#include "app/engine/run_source.h"
#include "engine/model_bench.h"

namespace model_engine_test {

using namespace headlight;
using namespace headlight::app;

TEST_SUITE("cpu") {
  TEST_CASE("a model's weights are loaded once, in the precision that was asked for") {
    ModelBench bench;
    State state = model_state("gpt2", "a b");
    bench.request(state);
    const EngineResult first = bench.finish();
    CHECK(first.error == "");
    CHECK(first.model);
    CHECK(first.prompt);
    CHECK(first.has_logits);
    CHECK(bench.log->loads == 1);
    CHECK_FALSE(bench.log->has_f16);
    state.text() = "a b c";
    set_head_gain(state, {}, 1, 0.0f);
    bench.request(state);
    CHECK(bench.finish().run == 2);
    CHECK(bench.log->loads == 1);
    CHECK(bench.log->gains == 1);
    state.model().precision = inference::Precision::F16;
    bench.request(state);
    bench.finish();
    CHECK(bench.log->loads == 2);
    CHECK(bench.log->has_f16);
    select_model(state, "", {});
    bench.request(state);
    const EngineResult playground = bench.finish();
    CHECK_FALSE(playground.model);
    CHECK(bench.log->loads == 3);  // in its place, so that the device has room again
    CHECK_FALSE(bench.log->has_f16);
    CHECK_FALSE(bench.engine.progress().load);
  }

  TEST_CASE("loading shows how far it is, and can be given up") {
    ModelBench bench;
    State state;
    bench.request(state);
    bench.finish();
    bench.log->is_load_held = true;
    bench.request(model_state("gpt2", "a"));
    const Progress progress = bench.await_progress(100);
    CHECK(progress.done == 100);
    CHECK(progress.total == 1000);
    CHECK(bench.engine.is_busy());
    bench.engine.cancel_load();
    const EngineResult cancelled = bench.finish();
    CHECK(cancelled.is_load_error);
    CHECK(cancelled.is_stale);
    CHECK(cancelled.run == 1);
    bench.log->is_load_held = false;
    bench.request(state);
    const EngineResult after = bench.finish();
    CHECK(after.error == "");
    CHECK_FALSE(after.is_load_error);
  }

  TEST_CASE("the first layers of a model are shown while the others are loaded, and nothing else is answered of them") {
    ModelBench bench;
    bench.log->shows_first_layers = true;
    bench.log->is_load_held = true;
    const State state = model_state("gpt2", "a b c");
    bench.request(state, {{.token = 2, .layer = 2}});
    // The first result that is as expected: that the device is open may be told in one of its own.
    const auto next = [&](const auto& is_expected) {
      EngineResult last;
      for (int patience = 0; patience < 4000 && !is_expected(last); ++patience) {
        if (std::optional<EngineResult> result = bench.engine.poll()) last = std::move(*result);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return last;
    };
    const EngineResult early = next([](const EngineResult& result) { return result.run > 0; });
    CHECK(early.first_layers == 1);
    CHECK(early.run == 1);
    CHECK(early.shapes.size() == 2);
    CHECK(early.tiles.empty());
    CHECK(bench.engine.progress().load);
    CHECK(bench.engine.is_busy());
    // The window lays it out, and asks.
    EngineRequest request{.revision = ++bench.revision, .inputs = run_inputs(state)};
    for (std::uint32_t layer = 0; layer < 2; ++layer) {
      request.queries.emplace_back(TileQuery{.block = {.layer = LayerIndex{layer}}, .rows = 3, .columns = 3});
    }
    request.queries.emplace_back(PredictionQuery{.token = 2, .layer = 2});
    bench.engine.request(request);
    CHECK_FALSE(bench.engine.wait_for(bench.revision, std::chrono::milliseconds(20)));
    const EngineResult answered = next([](const EngineResult& result) { return !result.tiles.empty(); });
    CHECK(answered.first_layers == 1);
    CHECK(answered.run == 1);
    CHECK(answered.tiles.size() == 1);
    CHECK(answered.predictions.empty());
    CHECK(answered.revision < bench.revision);
    bench.log->is_load_held = false;
    const EngineResult whole = bench.finish();
    CHECK(whole.error == "");
    CHECK(whole.first_layers == 0);
    CHECK(whole.run == 2);
    CHECK(whole.tiles.size() == 2);
    CHECK(whole.has_all_tiles);
    CHECK(whole.predictions.size() == 1);
    CHECK(whole.revision == bench.revision);
    CHECK_FALSE(bench.engine.progress().load);
  }

  TEST_CASE("a request that waits for kernels shows how many are compiled") {
    ModelBench bench;
    bench.log->kernels = 3;
    bench.log->is_compiling_held = true;
    bench.request(State());
    std::optional<Progress> progress;
    for (int patience = 0; patience < 4000 && (!progress || progress->done == 0); ++patience) {
      progress = bench.engine.progress().kernels;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    REQUIRE(progress);
    CHECK(progress->done == 1);
    CHECK(progress->total == 3);
    CHECK(bench.engine.is_busy());
    bench.log->is_compiling_held = false;
    bench.log->is_compiling_held.notify_all();
    bench.finish();
    CHECK_FALSE(bench.engine.progress().kernels);
  }

  TEST_CASE("the layers of a long pass are told, and it is cancelled by the user or by newer inputs") {
    ModelBench bench;
    State state;
    state.text() = "one two three";
    const auto hold = [&] {
      bench.log->layers = 4;
      bench.log->is_pass_held = true;
      bench.request(state);
      std::optional<Progress> progress;
      for (int patience = 0; patience < 4000 && (!progress || progress->done == 0); ++patience) {
        progress = bench.engine.progress().pass;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      REQUIRE(progress);
      CHECK(progress->done == 1);
      CHECK(progress->total == 4);
    };
    hold();
    bench.log->is_pass_held = false;
    CHECK(bench.finish().run == 1);
    CHECK_FALSE(bench.engine.progress().pass);

    state.text() += " four";
    hold();
    bench.engine.cancel_load();
    const EngineResult cancelled = bench.finish();
    CHECK(cancelled.error == "the pass was cancelled");
    CHECK(cancelled.is_stale);
    CHECK(cancelled.run == 1);

    state.text() += " five";
    hold();
    state.text() += " six";
    bench.request(state);  // what was begun is outdated, though nothing lets it go on
    const EngineResult newest = bench.finish();
    CHECK(newest.error == "");
    CHECK(newest.run == 2);
    CHECK(newest.input->source.length == 6);
    bench.log->is_pass_held = false;
  }

  TEST_CASE("positions are stretched only where the choice says so and the text needs it") {
    ModelBench bench;
    State state = model_state("gpt2", std::string(400, 'a') + " b c");
    bench.request(state);
    const EngineResult refused = bench.finish();
    CHECK(refused.error.find("has positions for 32") != std::string::npos);
    CHECK(refused.error_kind == ErrorKind::TooFewPositions);
    state.model().ids = {{99'999}};  // of a text that is as long as before
    bench.request(state);
    const EngineResult unknown = bench.finish();
    CHECK(unknown.error.find("token id 99999") != std::string::npos);
    CHECK(unknown.error_kind == ErrorKind::Other);
    state.model().ids.clear();
    state.model().stretches_positions = true;
    bench.request(state);
    const EngineResult stretched = bench.finish();
    CHECK(stretched.error == "");
    REQUIRE(stretched.model);
    CHECK(stretched.network != stretched.model->network);
    CHECK(stretched.network->layers == stretched.model->network->layers);
    CHECK(stretched.network->source_embedding->positions.axis(0) >= stretched.input->source.length);
    state.text() += " d";  // the factor stays, and with it the network: tokens before it keep their positions
    bench.request(state);
    CHECK(bench.finish().network == stretched.network);
    state.text() = "a b";
    bench.request(state);
    const EngineResult brief = bench.finish();
    CHECK(brief.network == brief.model->network);
  }

  TEST_CASE("lines are items of the batch, or one text") {
    ModelBench bench;
    State state = model_state("gpt2", "the cat\nsat on\n");
    bench.request(state);
    CHECK(bench.finish().input->source.batch == 2);
    state.model().joins_lines = true;
    bench.request(state);
    const EngineResult joined = bench.finish();
    REQUIRE(joined.input->source.batch == 1);
    std::uint32_t end = 0;
    for (const text::Token& token : joined.prompt->tokens.front()) end = std::max(end, token.bytes.end);
    CHECK(end == state.text().size());  // the line breaks are part of it
  }

  TEST_CASE("a text of its own takes a line break that the model writes; a line of a batch doesn't") {
    State state = model_state("gpt2", "the cat");
    CHECK(take_line_breaks(state));
    CHECK(state.model().joins_lines);
    state = model_state("gpt2", "the cat\nsat on");
    CHECK_FALSE(take_line_breaks(state));
    CHECK_FALSE(state.model().joins_lines);
  }

  TEST_CASE("another model replaces one that is being loaded") {
    ModelBench bench;
    bench.log->is_load_held = true;
    bench.request(model_state("gpt2", "a"));
    bench.await_progress(100);
    bench.log->is_load_held = false;
    bench.request(model_state("bert", "a"));
    const EngineResult result = bench.finish();
    CHECK(result.error == "");
    REQUIRE(result.model);
    CHECK(result.model->description.model_type == "bert");
  }

  TEST_CASE("a model that the device can't hold leaves the previous run on screen") {
    ModelBench bench;
    State state;
    bench.request(state);
    bench.finish();
    bench.log->fails_to_load = true;
    bench.request(model_state("gpt2", "a"));
    const EngineResult result = bench.finish();
    CHECK(result.is_load_error);
    CHECK(result.error.find("16 GiB") != std::string::npos);
    CHECK(result.run == 1);
    CHECK_FALSE(result.model);
  }

  TEST_CASE("predictions are read where the run has such places, once for each run") {
    ModelBench bench;
    State state = model_state("gpt2", "a b");
    bench.request(state);
    const std::uint32_t tokens = bench.finish().input->source.length;
    const PredictionQuery last{.batch = 0, .token = tokens - 1, .layer = 2, .keeps_logits = true};
    const PredictionQuery lens{.batch = 0, .token = 0, .layer = 1, .keeps_logits = false};
    bench.request(state, {last,
                          lens,
                          {.batch = 1, .token = 0, .layer = 0},
                          {.batch = 0, .token = tokens, .layer = 0},
                          {.batch = 0, .token = 0, .layer = 3}});
    const EngineResult result = bench.finish();
    CHECK(result.predictions.size() == 2);
    REQUIRE(result.prediction(last));
    REQUIRE(result.prediction(lens));
    CHECK(result.prediction(last)->candidates.front().id == 1 + tokens - 1 + 2);
    CHECK(result.prediction(last)->candidates.size() == kPredictedCandidates);
    // e¹⁰ against 127 times e⁰.
    CHECK(result.prediction(last)->candidates.front().probability ==
          doctest::Approx(22026.47 / (22026.47 + 127.0)).epsilon(1e-5));
    CHECK(result.prediction(last)->logits->size() == 128);
    CHECK_FALSE(result.prediction(lens)->logits);
    CHECK(bench.log->logit_rows == 2);
    bench.request(state, {last, lens});
    bench.finish();
    CHECK(bench.log->logit_rows == 2);
    state.text() = "a c";
    bench.request(state, {last, lens});
    CHECK(bench.finish().prediction(last)->run == 2);
    CHECK(bench.log->logit_rows == 4);
  }

  TEST_CASE("predictions are of the last token, of the first mask, or of a pinned row") {
    ModelBench bench;
    State state = model_state("gpt2", "a b");
    bench.request(state);
    const EngineResult causal = bench.finish();
    CHECK(prediction_position(state, causal).kind == PredictionPosition::Kind::Next);
    CHECK(prediction_position(state, causal).token == causal.input->source.length - 1);
    state.view.pinned = attention::Cell{.query = 0, .key = 1};
    CHECK(prediction_position(state, causal).token == 0);
    CHECK(prediction_position(state, causal).is_chosen);

    state = model_state("bert", "a [MASK] b");
    bench.request(state);
    const EngineResult masked = bench.finish();
    const PredictionPosition place = prediction_position(state, masked);
    CHECK(place.kind == PredictionPosition::Kind::Masked);
    CHECK(masked.input->source.ids[place.token] == mask_token(masked));
    state.view.pinned = attention::Cell{.query = 1, .key = 0};
    CHECK(prediction_position(state, masked).kind == PredictionPosition::Kind::InPlace);
  }
}

}  // namespace model_engine_test
