// Texts that are continued: by a candidate, and by generation.
#include <doctest/doctest.h>

#include "app/engine/continuation.h"
#include "app/engine/generation.h"
#include "engine/model_bench.h"

namespace generation_test {

using namespace headlight;
using namespace headlight::app;

namespace {

/// Continues a text to its end, as the window does.
std::string generate(State& state, Generation& generation) {
  ModelBench bench;
  bench.request(state);
  EngineResult result = bench.finish();
  REQUIRE(result.error == "");
  generation.start(state, result);
  for (int patience = 0; generation.is_running() && patience < 200; ++patience) {
    bench.request(state, {generation.request(result)});
    result = bench.finish();
    REQUIRE(result.error == "");
    generation.step(state, result);
  }
  CHECK_FALSE(generation.is_running());
  return state.text();
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a candidate is appended, takes the next token's place, or the mask's") {
    ModelBench bench;
    State state = model_state("gpt2", "the cat");
    bench.request(state);
    EngineResult result = bench.finish();
    const text::Tokenizer& tokenizer = *result.model->tokenizer;
    PredictionPosition place = prediction_position(state, result);
    const std::vector<text::Token> more = tokenizer.encode("the cat sat");
    const std::uint32_t next = more.at(result.prompt->tokens[0].size()).id;
    CHECK(put_token(state, result, place, next));
    CHECK(state.text().starts_with("the cat"));
    CHECK(state.text().size() > 7);
    CHECK(std::string("the cat sat").starts_with(state.text()));

    state.text() = "the cat";
    place.token = place.first;
    const std::size_t before = state.text().size();
    const text::Token& second = result.prompt->tokens[0].at(1);
    CHECK(put_token(state, result, place, second.id));  // itself: nothing changes
    CHECK(state.text().size() == before);
    CHECK(state.text() == "the cat");

    state = model_state("bert", "a [MASK] b");
    bench.request(state);
    result = bench.finish();
    const std::optional<std::uint32_t> word = result.model->tokenizer->find("b");
    REQUIRE(word);
    CHECK(put_token(state, result, prediction_position(state, result), *word));
    CHECK(state.text() == "a b b");
    place = prediction_position(state, result);
    place.token = 0;  // [CLS] has no characters
    place.kind = PredictionPosition::Kind::InPlace;
    CHECK_FALSE(put_token(state, result, place, *word));
  }

  TEST_CASE("greedy generation says the same twice and stops where it was told to") {
    State state = model_state("gpt2", "the cat");
    state.generation.tokens = 5;
    Generation generation;
    const std::string first = generate(state, generation);
    CHECK(first.starts_with("the cat"));
    CHECK(generation.count() <= 5);
    CHECK(generation.outcome() != "");
    State again = model_state("gpt2", "the cat");
    again.generation.tokens = 5;
    CHECK(generate(again, generation) == first);
    CHECK(again.model().ids.empty());
  }

  TEST_CASE("generation stops at once, and when the user types") {
    ModelBench bench;
    State state = model_state("gpt2", "the cat");
    bench.request(state);
    const EngineResult result = bench.finish();
    Generation generation;
    generation.start(state, result);
    CHECK(generation.is_running());
    generation.stop(state);
    CHECK_FALSE(generation.is_running());
    CHECK(state.text() == "the cat");
    generation.start(state, result);
    state.text() += "s";
    generation.step(state, result);
    CHECK_FALSE(generation.is_running());
    CHECK(state.text() == "the cats");
  }

  TEST_CASE("an encoder–decoder's words go to its target, to the selected line's") {
    ModelBench bench;
    State state = model_state("marian", "a b\nc");
    state.selection.block = {.kind = model::BlockKind::DecoderSelf, .layer = {0}};
    state.selection.batch = 1;
    bench.request(state);
    const EngineResult result = bench.finish();
    REQUIRE(result.error == "");
    const PredictionPosition place = prediction_position(state, result);
    CHECK(place.kind == PredictionPosition::Kind::Next);
    CHECK(place.batch == 1);
    append_to_item(state, result, 1, " drei");
    CHECK(state.model().target_text == "\ndrei");
    append_to_item(state, result, 1, " vier");
    CHECK(state.model().target_text == "\ndrei vier");
    CHECK(state.text() == "a b\nc");
  }
}

}  // namespace generation_test
