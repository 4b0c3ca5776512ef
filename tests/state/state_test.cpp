#include <fstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "app/state/field.h"
#include "app/state/map_settings.h"
#include "app/state/mask_painting.h"
#include "app/state/model_changes.h"
#include "app/state/session_file.h"
#include "app/state/side_by_side_settings.h"
#include "app/state/state.h"
#include "app/state/state_json.h"
#include "app/state/transient.h"
#include "core/error.h"
#include "state/unusual_state.h"
#include "support/expressions.h"
#include "support/temporary_directory.h"

namespace state_test {

using namespace headlight;
using namespace headlight::app;
using nlohmann::json;
using test::unusual_capture;
using test::unusual_notebook;
using test::unusual_state;

namespace {

BlockShapes two_layers(std::uint32_t heads, std::uint32_t tokens) {
  inference::BlockShape shape;
  shape.batch = 2;
  shape.heads = heads;
  shape.queries = shape.keys = tokens;
  return {{{.kind = model::BlockKind::EncoderSelf, .layer = {0}}, shape},
          {{.kind = model::BlockKind::EncoderSelf, .layer = {1}}, shape}};
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a state survives its JSON, member by member") {
    for (const State& state : {unusual_state(), unusual_notebook(), unusual_capture()}) {
      const Result<State> read = state_from_json(json::parse(to_json(state).dump()));
      REQUIRE_MESSAGE(read, (read ? "" : read.error()));
      CHECK(*read == state);
      CHECK(describe_change(*read, state).label == "");
    }
  }

  TEST_CASE("a notebook's changes are named, undone in one step and refused where they are invalid") {
    State state;
    select_preset(state, "notebook-000");
    const attention::MaskSet own_masks = state.masks;
    inference::NotebookEdits edits;
    inference::set_by_name(edits, "notebook-000", "w_q[2,1]", "0.5");
    edit_notebook(state, edits);
    CHECK(model_changes(state) == "W_Q[2,1] typed");
    CHECK(run_changes(run_inputs(state), nullptr, {}) == "W_Q[2,1] typed");
    CHECK(state.masks == own_masks);
    // Another seed draws another mask, which is the notebook's own again.
    edits.recipe.seed = 7;
    edit_notebook(state, edits);
    CHECK(state.masks != own_masks);
    CHECK(state.masks == trained_masks(state.source));
    CHECK(model_changes(state) == "seed 7 \u00B7 W_Q[2,1] typed");
    // A recipe that can't be made keeps the notebook's own masks; the run says why.
    edits.recipe.heads = 3;
    edit_notebook(state, edits);
    CHECK(state.masks == own_masks);
    State next = state;
    restore_training(next);
    CHECK(notebook_edits(next.source).is_empty());
    CHECK(describe_change(state, next).label == "Back to the notebook's numbers");
    CHECK(describe_change(next, state).label == "Change the notebook's recipe");

    const auto refusal = [&](const json& matrices) {
      json file = to_json(next);
      file["preset_edits"] = {{"matrices", matrices}};
      const Result<State> read = state_from_json(file);
      return read ? std::string("taken") : read.error();
    };
    CHECK(refusal({{"v", {{"shape", {6, 4}}, {"cells", {{24, 1}}}}}}) ==
          "preset_edits.matrices.v.cells: expected a whole number from 0 to 23, found 24");
    CHECK(refusal({{"v", {{"shape", {6, 4}}, {"cells", {{0, "a"}}}}}}) ==
          "preset_edits.matrices.v.cells: expected [index, finite number], found [0,\"a\"]");
    CHECK(refusal({{"v", {{"shape", {1 << 20, 2}}, {"cells", {{0, 1}}}}}}) ==
          "preset_edits.matrices.v.shape: more than 1048576 numbers");
    CHECK(
        refusal({{"v", {{"shape", json::array()}, {"cells", {{0, 1}}}}}}).starts_with("preset_edits.matrices.v.shape: exp"));
    CHECK(refusal({{"v", {{"shape", {6, 4}}, {"cells", {{0, 1.5}}}}}}) == "taken");
  }

  TEST_CASE("heads are pinned in order and each once, also from a file") {
    const HeadRef first{.block = {.layer = {0}}, .head = 5}, second{.block = {.layer = {1}}, .head = 2};
    HeadChoices choices;
    for (const HeadRef& head : {second, first}) toggle_pin(choices, head);
    CHECK(choices.pinned == std::vector<HeadRef>{first, second});
    CHECK(is_pinned(choices, second));
    toggle_pin(choices, first);
    CHECK(choices.pinned == std::vector<HeadRef>{second});
    CHECK_FALSE(is_pinned(choices, first));
    const auto list = [](const char* text) { return state_from_json(json{{"heads", {{"pinned", json::parse(text)}}}}); };
    const Result<State> read = list(R"([{"layer": 1, "head": 2}, {"head": 5}, {"layer": 1, "head": 2}])");
    REQUIRE(read);
    CHECK(read->heads.pinned == std::vector<HeadRef>{first, second});
    CHECK(list(R"([{"layer": -1}])").error().find("heads.pinned.layer") != std::string::npos);
    CHECK(list(R"("all")").error().find("heads.pinned: expected a list of heads") != std::string::npos);
    CHECK(state_from_json(json{{"heads", {{"order", "loudness"}}}}).error().find("heads.order") != std::string::npos);
  }

  TEST_CASE("a value that is edited is put back at the end of the expression") {
    State state;
    const auto next = [](std::uint32_t& value) { value += 2; };
    next(state.edit(kSideBySideView.head));
    CHECK(state[kSideBySideView.head] == 3);
  }

  TEST_CASE("missing keys keep their defaults and unknown ones are ignored") {
    const Result<State> read = state_from_json(json::parse(R"({"text": "a b", "from_the_future": [1], "view": {"x": 1}})"));
    REQUIRE(read);
    State expected;
    expected.text() = "a b";
    CHECK(*read == expected);
  }

  TEST_CASE("a value of the wrong type is a failure that names its key") {
    const auto failure = [](const char* text) {
      const Result<State> read = state_from_json(json::parse(text));
      REQUIRE_FALSE(read);
      CHECK(read.error().find('\n') == std::string::npos);
      return read.error();
    };
    CHECK(failure(R"([1, 2])") == "the file: expected an object, found [1,2]");
    CHECK(failure(R"({"text": 3})") == "text: expected a text, found 3");
    CHECK(failure(R"({"view": {"theme": "pink"}})") ==
          "view.theme: expected one of dark, light, high-contrast, found \"pink\"");
    CHECK(failure(R"({"view": 1})") == "view: expected an object, found 1");
    CHECK(failure(R"({"playground": {"heads": 65}})") == "playground.heads: expected a whole number from 1 to 64, found 65");
    CHECK(failure(R"({"playground": {"seed": -1}})").find("playground.seed: expected a whole number") == 0);
    CHECK(failure(R"({"playground": {"heads": 2.5}})").find("playground.heads") == 0);
    CHECK(failure(R"({"neuron": {"form": "both"}})") == "neuron.form: expected one of pair, all-keys, found \"both\"");
    CHECK(failure(R"({"block": {"opened": "../x"}})").find("block.opened: expected the name of a matrix") == 0);
    CHECK(failure(R"({"block": {"speed": 9}})") == "block.speed: expected a number from 0.25 to 4, found 9");
    CHECK(failure(R"({"logits": {"other": "the"}})").find("logits.other: expected a whole number") == 0);
    CHECK(failure(R"({"flow": {"method": "river"}})") ==
          "flow.method: expected one of routes, rollout, flow, found \"river\"");
    CHECK(failure(R"({"flow": {"threshold": 0}})") == "flow.threshold: expected a number from 0.001 to 0.5, found 0");
    CHECK(failure(R"({"flow": {"threshold": "auto"}})").find("flow.threshold: expected a number from 0.001 to 0.5") == 0);
    CHECK(failure(R"({"masks": {"cross": {"rule": "diagonal"}}})").find("masks.cross.rule: ") == 0);
    CHECK(failure(R"({"masks": {"cross": {"mask_expression": "k <= sore"}}})")
              .find("masks.cross.mask_expression: column 6: 'sore' is unknown") == 0);
    CHECK(
        failure(R"({"masks": {"cross": {"score_expression": 3}}})").find("masks.cross.score_expression: expected a text") ==
        0);
    CHECK(failure(R"({"masks": {"cross": {"score_expression": "slider(a, 0, 1) + 0.0", "sliders": {"a": 2}}}})") ==
          "masks.cross.sliders.a: expected a number from 0 to 1, found 2");
    CHECK(failure(R"({"masks": {"cross": {"biases": [{"runs": [[1, 2, 1, 1e9]]}]}}})").find("masks.cross.biases.runs: ") ==
          0);
    CHECK(failure(R"({"masks": {"cross": {"documents": [{"begins": 4}]}}})").find("masks.cross.documents.begins: ") == 0);
    CHECK(failure(R"({"patterns": [{"pattern": "painted", "weights": [[1, 2, 0, 1]]}]})").find("patterns.weights: ") == 0);
    CHECK(failure(R"({"masks": {"cross": {"painted": [{"cells": [[1, 2]]}]}}})").find("masks.cross.painted.cells: ") == 0);
    CHECK(failure(R"({"masks": {"cross": {"matrix": {"shape": [1, 1, 1, 2], "rows": ["012"]}}}})")
              .find("masks.cross.matrix.rows: ") == 0);
  }

  TEST_CASE("a session file is read back, and a broken one is named") {
    const TemporaryDirectory directory;
    const auto path = directory.path() / "a.headlight.json";
    save_session(path, unusual_state());
    const Result<State> read = load_session(path);
    REQUIRE(read);
    CHECK(*read == unusual_state());

    std::ofstream(path) << "{\"headlight\": 1, ";
    const Result<State> broken = load_session(path);
    REQUIRE_FALSE(broken);
    CHECK(broken.error().find(path.string() + ": not JSON") == 0);
    std::ofstream(path) << "{}";
    CHECK_FALSE(load_session(path));
    CHECK_FALSE(load_session(directory.path() / "missing.json"));
  }

  TEST_CASE("a text that is no UTF-8 can still be saved") {
    State state;
    state.text() = "a\xff b";
    const TemporaryDirectory directory;
    save_session(directory.path() / "s.json", state);
    CHECK(load_session(directory.path() / "s.json"));
  }

  TEST_CASE("painting there and back leaves no paint, and a wide brush covers a narrow one") {
    State state;
    const attention::Cell cell = {.query = 1, .key = 0};
    paint(state, cell, false, {.keys = 5});
    const attention::PaintScope one_head = {.layer = 0, .batch = 0, .head = 0};
    CHECK(selected_mask(state).painted.at(one_head).state(cell) == false);
    paint(state, cell, true, {.keys = 5});
    CHECK(selected_mask(state).painted.empty());

    paint(state, cell, false, {.keys = 5});
    state.set(kBrush.reach, PaintReach::AllLayers);
    paint(state, cell, true, {.keys = 5});
    CHECK(selected_mask(state).painted.empty());
    paint(state, cell, false, {.keys = 5});
    CHECK_FALSE(selected_mask(state).is_visible(3, 0, 7, 1, 0, 5));
    state.set(kBrush.reach, PaintReach::ThisHead);
    paint(state, cell, true, {.keys = 5});
    CHECK(selected_mask(state).is_visible(0, 0, 0, 1, 0, 5));
    CHECK_FALSE(selected_mask(state).is_visible(0, 0, 1, 1, 0, 5));
    reset_masks(state);
    CHECK(state.masks == attention::MaskSet{});
  }

  TEST_CASE("heads of a file are sorted, and what is no list of heads or no locked token is refused in one line") {
    const auto read = [](const json& view, const json& lines) {
      return state_from_json({{"view", view}, {"lines", lines}});
    };
    CHECK(read(json::object(), {{"hidden_heads", {7, 2, 7, 0}}}).value().view.lines.hidden_heads ==
          std::vector<std::uint32_t>{0, 2, 7});
    CHECK(read(json::object(), {{"hidden_heads", 3}}).error().find("lines.hidden_heads: expected a list of heads") == 0);
    CHECK_FALSE(read(json::object(), {{"hidden_heads", {-1}}}));
    CHECK_FALSE(read(json::object(), {{"threshold", 0.0}}));
    CHECK_FALSE(read(json::object(), {{"threshold", 2.0}}));
    CHECK(
        read({{"locked", {{"side", "row"}}}}, json::object()).error().find("view.locked.side: expected one of query, key") ==
        0);
    CHECK_FALSE(read({{"locked", {{"token", -3}}}}, json::object()));
    CHECK_FALSE(read({{"locked", 3}}, json::object()));
    CHECK(read({{"locked", nullptr}}, json::object()).value().view.locked == std::nullopt);
  }

  TEST_CASE("the selection moves to something that exists") {
    State state;
    state.selection = {.block = {.kind = model::BlockKind::EncoderSelf, .layer = {5}}, .batch = 7, .head = 9};
    state.view.pinned = attention::Cell{.query = 3, .key = 3};
    state.view.locked = LockedToken{.side = MapSide::Key, .token = 3};
    clamp_selection(state, {});
    CHECK(state.selection.head == 9);
    clamp_selection(state, two_layers(4, 4));
    CHECK(state.selection ==
          Selection{.block = {.kind = model::BlockKind::EncoderSelf, .layer = {1}}, .batch = 1, .head = 3});
    CHECK(state.view.pinned.has_value());
    CHECK(state.view.locked.has_value());
    clamp_selection(state, two_layers(4, 3));
    CHECK_FALSE(state.view.pinned.has_value());
    CHECK_FALSE(state.view.locked.has_value());
    state.selection.block.kind = model::BlockKind::Cross;
    clamp_selection(state, two_layers(4, 3));
    CHECK(state.selection.block == model::BlockRef{.kind = model::BlockKind::EncoderSelf, .layer = {0}});
    // The model is a hybrid, whose layers 3 and 7 have attention.
    const inference::BlockShape shape = two_layers(4, 3).begin()->second;
    const BlockShapes hybrid = {{{.layer = {3}}, shape}, {{.layer = {7}}, shape}};
    for (const auto& [asked, shown] : {std::pair(0U, 3U), {3U, 3U}, {4U, 7U}, {9U, 7U}}) {
      state.selection.block = {.layer = {asked}};
      clamp_selection(state, hybrid);
      CHECK(state.selection.block.layer.value == shown);
    }
  }

  TEST_CASE("a preset brings its own masks and gives the playground's back") {
    State state;
    state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
    const State before = state;
    select_preset(state, "notebook-000");
    CHECK(state.masks != before.masks);
    CHECK(notebook_name(run_inputs(state).source) == "notebook-000");
    select_preset(state, "notebook-001");
    select_preset(state, "");
    CHECK(state == before);
    CHECK_THROWS_AS(select_preset(state, "notebook-999"), Error);
    CHECK(state == before);
  }

  TEST_CASE("what makes a model another one than it was trained to be is named part by part") {
    State state;
    CHECK(model_changes(state).empty());
    state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
    CHECK(model_changes(state) == "causal on");
    select_preset(state, "notebook-002");  // comes with masks of its own, which are no departure
    CHECK(model_changes(state).empty());
    for (const model::BlockKind kind : {model::BlockKind::EncoderSelf, model::BlockKind::Cross}) {
      state.masks[kind].rule.window = 3;
    }
    set_head_gain(state, {}, 0, 0.0F);
    set_head_gain(state, {}, 1, 0.0F);
    set_head_gain(state, {}, 2, 0.5F);
    CHECK(model_changes(state) == "L0H0, L0H1 knocked out · L0H2 × 0.5 · window 3");
    const State changed = state;
    restore_training(state);
    CHECK(model_changes(state).empty());
    CHECK(describe_change(changed, state).label == "Reset the model");
    state = changed;
    select_preset(state, "notebook-002");  // once more
    CHECK(model_changes(state).empty());
    select_preset(state, "");
    CHECK(model_changes(state) == "causal on");  // the playground is as it was left
    state = {};
    paint(state, {.query = 1, .key = 0}, false, {.keys = 5});
    state.masks[model::BlockKind::EncoderSelf].fill = attention::MaskFill::MinusOneBillion;
    CHECK(model_changes(state) == "fill \u22121e9 · 1 cell painted in L0H0");
    state = {};
    selected_mask(state).mask_expression = test::mask_expression("k <= q");
    selected_mask(state).score_expression = test::score_expression("2.0 * score");
    CHECK(model_changes(state) == "mask expression · score expression");
  }

  TEST_CASE("the second text counts only while cross-attention is on") {
    State state;
    state.playground().key_text = "keys";
    CHECK(std::get<Playground>(run_inputs(state).source).key_text == "");
    state.playground().cross = true;
    CHECK(std::get<Playground>(run_inputs(state).source).key_text == "keys");
  }

  TEST_CASE("tokens under the pointer are read in the frame after the one that wrote them") {
    State state;
    state.view.pinned = attention::Cell{.query = 5, .key = 1};
    Transient transient;
    transient.points_at = {.query = 3, .key = {}};
    CHECK(transient.followed_query(state) == 5U);  // not yet
    transient.begin_panes();
    CHECK(transient.pointed == PointedTokens{.query = 3, .key = {}});
    CHECK(transient.followed_query(state) == 3U);
    transient.hovered = attention::Cell{.query = 2, .key = 0};  // a cell of the map comes first
    CHECK(transient.followed_query(state) == 2U);
    transient.hovered_stage = attention::Stage::Q;  // whose rows are no queries of a map
    CHECK(transient.followed_query(state) == 3U);
    transient.begin_panes();
    CHECK_FALSE(transient.hovered);
    CHECK(transient.followed_query(state) == 5U);
  }
}

}  // namespace state_test
