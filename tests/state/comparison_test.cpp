// The baseline as a part of the state.
#include "app/state/comparison.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "app/state/settings.h"
#include "app/state/side_by_side_settings.h"
#include "app/state/state_json.h"
#include "app/state/undo.h"
#include "app/state/what_if_settings.h"

namespace comparison_test {

using namespace headlight;
using namespace headlight::app;
using nlohmann::json;

namespace {

State with_model() {
  State state;
  state.text() = "the cat";
  change_to_model(state, "/models/gpt2");
  state.model().trained_masks[model::BlockKind::EncoderSelf].rule.causal = true;
  state.masks = state.model().trained_masks;
  return state;
}

State read_again(const State& state) {
  const Result<State> read = state_from_json(json::parse(to_json(state).dump()));
  REQUIRE_MESSAGE(read, read.error());
  return *read;
}

std::string complaint_about(const json& baseline) {
  json value = to_json(State{});
  value["compare"]["baseline"] = baseline;
  const Result<State> read = state_from_json(value);
  return read ? "" : read.error();
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("of two texts the words that differ are shown, and what is equal is left out") {
    const std::string horse = "A man in a red shirt rides a horse. A man in a red shirt.";
    const std::string bike = "A man in a red shirt rides a bike. A man in a red shirt.";
    CHECK(differing_words(horse, bike, 40) == "…a horse. A…");
    CHECK(differing_words(bike, horse, 40) == "…a bike. A…");
    CHECK(differing_words("the cat sat", "the cat sat down", 40) == "…sat");
    CHECK(differing_words("the cat sat down", "the cat sat", 40) == "…sat down");
    CHECK(differing_words("one two", "three four", 40) == "one two");
    CHECK(differing_words("x", "", 40) == "x");
    CHECK(differing_words("", "x", 40).empty());
    CHECK(differing_words("same same", "same same", 40) == "…same");
    const std::string cut = differing_words("die größte Straße überall", "nothing equal here at all", 12);
    CHECK(cut.size() <= 12 + 3);
    CHECK(cut.ends_with("…"));
  }

  TEST_CASE("there is a baseline under the name of what was changed about it") {
    State state = with_model();
    CHECK(make_baseline(state).name == "as trained");
    set_head_gain(state, {}, 2, 0.0F);
    const BaselineRun baseline = make_baseline(state);
    CHECK(baseline.name == "L0H2 knocked out");
    CHECK(baseline.inputs == run_inputs(state));
    state.compare.baseline = baseline;
    CHECK(compared_with(state) == "this very run: change something");
    state.gains.clear();
    CHECK(compared_with(state) == "L0H2 knocked out");
    state.text() = "the dog";
    CHECK(compared_with(state) == "L0H2 knocked out, \u201Cthe cat\u201D");
  }

  TEST_CASE("going back restores text, masks and heads, and keeps what a run doesn't need") {
    State state = with_model();
    set_head_gain(state, {}, 1, 0.5F);
    state.compare.baseline = make_baseline(state);
    const State before = state;
    state.text() = "something else";
    state.model().adds_special = false;
    state.gains.clear();
    state.masks = {};
    REQUIRE(can_return_to_baseline(state));
    return_to_baseline(state);
    CHECK(state == before);

    State playground;
    playground.playground().key_text = "kept";
    playground.compare.baseline = make_baseline(playground);
    playground.playground().text = "other";
    return_to_baseline(playground);
    CHECK(playground.playground().key_text == "kept");
    CHECK(playground.text() == State{}.text());
  }

  TEST_CASE("another model has nothing to go back to, but is compared with the baseline") {
    State state = with_model();
    state.compare.baseline = make_baseline(state);
    state.source = Notebook{"notebook-000"};
    CHECK_FALSE(can_return_to_baseline(state));
    const State stays = state;
    return_to_baseline(state);
    CHECK(state == stays);
    State other = with_model();
    other.compare.baseline = make_baseline(other);
    select_model(other, "/models/bert", {});
    REQUIRE(other.compare.baseline.has_value());
    CHECK_FALSE(can_return_to_baseline(other));
    CHECK(compared_with(other).starts_with(
        std::filesystem::path(model_path(other.compare.baseline->inputs.source)).filename().string() + ", as trained"));
    // The playground leaves nothing to compare a model with.
    State playground;
    playground.compare.baseline = make_baseline(playground);
    select_model(playground, "/models/bert", {});
    CHECK_FALSE(playground.compare.baseline.has_value());
  }

  TEST_CASE("a second text has the present choices, changes places with the first, and ends with its source") {
    State state;
    state.text() = "one two";
    compare_with_text(state, "one three four");
    REQUIRE(has_second_text(state));
    CHECK(second_text(state) == "one three four");
    CHECK(state.compare.baseline->name == "one three four");
    CHECK(std::string(difference_caption(state)) == "first \u2212 second text");
    CHECK(compared_with(state) == "\u201Cone three four\u201D");
    set_head_gain(state, {.kind = model::BlockKind::EncoderSelf, .layer = {0}}, 1, 0.0F);
    follow_second_text(state);
    State other = state;
    other.text() = "one three four";
    CHECK(state.compare.baseline->inputs == run_inputs(other));
    const BaselineRun* before = state.compare.baseline.get();
    follow_second_text(state);
    CHECK(state.compare.baseline.get() == before);  // nothing changed: no new value for the history
    exchange_texts(state);
    CHECK(state.text() == "one three four");
    CHECK(second_text(state) == "one two");
    CHECK_FALSE(can_return_to_baseline(state));
    select_preset(state, "notebook-004");
    follow_second_text(state);
    CHECK_FALSE(state.compare.baseline.has_value());
    CHECK_FALSE(state.compare.is_second_text);
  }

  TEST_CASE("files keep what is the baseline, of every source") {
    State state = with_model();
    state.model().ids = {{3, 4}};
    set_head_gain(state, {.kind = model::BlockKind::EncoderSelf, .layer = {1}}, 2, 0.25F);
    state.masks[model::BlockKind::EncoderSelf].painted[{}].paint({.query = 2, .key = 1}, false);
    state.compare = {.baseline = make_baseline(state), .shows_difference = false};
    state.gains.clear();
    CHECK(read_again(state) == state);
    State notebook;
    change_to_notebook(notebook, "notebook-000");
    notebook.compare.baseline = make_baseline(notebook);
    CHECK(read_again(notebook) == notebook);
    State playground;
    playground.playground().cross = true;
    playground.playground().key_text = "keys";
    playground.playground().settings.heads = 3;
    playground.compare.baseline = make_baseline(playground);
    playground.playground().cross = false;
    CHECK(read_again(playground) == playground);
    CHECK(read_again(State{}).compare.baseline.has_value() == false);
  }

  TEST_CASE("a baseline that isn't one is refused with the name of the member") {
    CHECK(complaint_about(nullptr) == "");
    CHECK(complaint_about(json::object()) == "");
    CHECK(complaint_about(3).find("compare.baseline: expected an object") == 0);
    CHECK(complaint_about({{"gains", 3}}).find("compare.baseline.gains") != std::string::npos);
    CHECK(complaint_about({{"playground", {{"heads", 0}}}}).find("compare.baseline.playground.heads") == 0);
    CHECK(complaint_about({{"name", std::string(1000, 'x')}}).find("compare.baseline.name") == 0);
    // A baseline inside of it is no part of a run.
    CHECK(complaint_about({{"compare", {{"baseline", 3}}}}) == "");
  }

  TEST_CASE("keeping a baseline is a step of the history, and a start begins without it") {
    State state = with_model();
    Undo undo(state);
    state.compare.baseline = make_baseline(state);
    undo.observe(state, 1.0, false);
    CHECK(undo.undo_label() == "Keep a baseline");
    state.compare.baseline.reset();
    undo.observe(state, 5.0, false);
    CHECK(undo.undo_label() == "Stop comparing");
    CHECK(undo.undo().compare.baseline.has_value());
    CHECK_FALSE(undo.undo().compare.baseline.has_value());
    state.compare.baseline = make_baseline(state);
    forget_changes(state);
    CHECK_FALSE(state.compare.baseline.has_value());
  }
}

}  // namespace comparison_test
