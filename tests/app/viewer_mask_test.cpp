// The mask in the window: switches, the brush, and what says that the model is not as it was trained.
#include <doctest/doctest.h>

#include <cmath>

#include "app/state/model_changes.h"
#include "app/state/session_file.h"
#include "app/ui_driver.h"
#include "engine/fake_runner.h"
#include "support/temporary_directory.h"

namespace viewer_mask_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::kControlShift;
using shell::Key;

namespace {

const std::string kGpt2 = std::string(HEADLIGHT_GOLDEN_DIR) + "/models/gpt2";

/// A window that shows a small trained model, which is causal.
void show_model(UiDriver& ui) {
  ui.window().open_model(kGpt2);
  ui.settle();
  REQUIRE_MESSAGE(model_path(ui.state().source) == kGpt2, ui.window().notice().text);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("switches, segments and reset of the mask") {
    UiDriver ui;
    ui.click("mask.causal");
    CHECK(ui.state().masks.by_kind[0].rule.causal);
    ui.click("mask.padding");
    CHECK_FALSE(ui.state().masks.by_kind[0].rule.key_padding);
    ui.click("mask.fill.1");
    CHECK(ui.state().masks.by_kind[0].fill == attention::MaskFill::MinusOneBillion);
    ui.click_within("mask.window", 0.5F, 0.5F);
    CHECK(ui.state().masks.by_kind[0].rule.window == 3);
    ui.click("mask.reach.3");
    CHECK(ui.state().view.paint_reach == PaintReach::AllLayers);
    ui.click("mask.reset");
    CHECK(ui.state().masks == attention::MaskSet{});
    ui.press(Key::Z, kControl);
    CHECK(ui.state().masks.by_kind[0].rule.window == 3);
  }

  TEST_CASE("dropout: its sites are switched, the run has it, and restoring the model takes it away") {
    State state;
    state.text() = "one two three";
    state.dropout.probability = 0.5F;
    UiDriver ui(state);
    ui.resize(1280, 1800);
    for (const char* site : {"mask.dropout_embeddings", "mask.dropout_branches", "mask.dropout_inner"}) ui.click(site);
    CHECK(ui.state().dropout == DropoutChoices{.probability = 0.5F, .embeddings = false, .branches = false, .inner = false});
    ui.settle();
    CHECK(model_changes(ui.state()) == "dropout 0.5 of weights, seed 1");
    State restored = ui.state();
    restore_training(restored);
    CHECK(restored.dropout == DropoutChoices{});
  }

  TEST_CASE("expressions: a broken text changes nothing, a right one does, undo takes it back") {
    UiDriver ui;
    ui.resize(1280, 1600);
    const auto mask = [&]() -> const attention::MaskSpec& { return ui.state().masks.by_kind[0]; };
    ui.press(Key::P, kControl);
    ui.type("formula sliding window");
    ui.press(Key::Enter);
    ui.settle();
    CHECK(mask().mask_expression.text().starts_with("abs(q - k) <"));
    ui.fill_in("mask.expression", "");
    CHECK_FALSE(mask().mask_expression);
    ui.click("mask.expression");
    ui.type("k <= ");
    ui.settle();
    CHECK_FALSE(mask().mask_expression);
    ui.type("q");
    ui.settle();
    CHECK(mask().mask_expression.text() == "k <= q");
    ui.type(" &&");  // what was accepted last stays
    ui.settle();
    CHECK(mask().mask_expression.text() == "k <= q");
    CHECK(model_changes(ui.state()) == "mask expression");
    ui.click("mask.score");
    ui.type("score * slider(gain, 0, 4, 1)");
    ui.settle();
    CHECK(mask().score_expression.text() == "score * slider(gain, 0, 4, 1)");
    ui.click_within("mask.slider.gain", 0.9F, 0.5F);
    ui.settle();
    CHECK(mask().sliders.at("gain") > 2.0F);
    ui.click("mask.reset");
    CHECK(ui.state().masks == attention::MaskSet{});
    ui.press(Key::Z, kControl);
    CHECK(mask().mask_expression.text() == "k <= q");
  }

  TEST_CASE("the brush masks a cell, the weights follow, undo shows it again") {
    UiDriver ui;
    CHECK_FALSE(weights(ui).is_masked(2, 4));
    ui.paint_cell(2, 4);
    CHECK(ui.state().masks.by_kind[0].painted.size() == 1);
    CHECK(weights(ui).is_masked(2, 4));
    CHECK(weights(ui).at(2, 4) == 0.0F);
    ui.press(Key::Z, kControl);
    CHECK(ui.state().masks.by_kind[0].painted.empty());
    CHECK_FALSE(weights(ui).is_masked(2, 4));
    ui.press(Key::Y, kControl);
    CHECK(weights(ui).is_masked(2, 4));
    ui.wait(2.0);
    ui.paint_cell(2, 4);
    CHECK(ui.state().masks.by_kind[0].painted.empty());
  }

  TEST_CASE("the brush paints rows, columns, diagonals and rectangles") {
    UiDriver ui;
    const auto painted = [&] { return attention::painted_count(ui.state().masks.by_kind[0].painted); };
    const inference::BlockShape shape = ui.result().shapes.at(ui.state().selection.block);
    REQUIRE(shape.queries >= 5);
    const std::pair<const char*, std::size_t> shapes[] = {
        {"mask.shape.1", shape.keys}, {"mask.shape.2", shape.queries}, {"mask.shape.3", shape.queries - 2}};
    for (const auto& one : shapes) {
      const char* name = one.first;
      CAPTURE(name);
      ui.press(Key::B);
      ui.click(name);
      ui.paint_cell(2, 4);
      CHECK(painted() == one.second);
      CHECK(weights(ui).is_masked(2, 4));
      ui.wait(2.0);
      ui.paint_cell(2, 4);
      CHECK(painted() == 0);
    }
    ui.press(Key::B);
    ui.click("mask.shape.4");
    const view::Rect map = ui.rect("head.map");
    const auto middle = [&](std::uint32_t query, std::uint32_t key) {
      const glm::vec2 cell{(static_cast<float>(key) + 0.5F) / static_cast<float>(shape.keys),
                           (static_cast<float>(query) + 0.5F) / static_cast<float>(shape.queries)};
      return map.origin + map.size * cell;
    };
    ui.feed(shell::drag(middle(1, 1), middle(2, 3)));
    CHECK(painted() == 6);
    CHECK(weights(ui).is_masked(1, 1));
    CHECK(weights(ui).is_masked(2, 3));
    CHECK_FALSE(weights(ui).is_masked(2, 4));
    ui.press(Key::Z, kControl);
    CHECK(painted() == 0);
  }

  TEST_CASE("the brush puts biases onto scores and takes them away again") {
    UiDriver ui;
    const float before = weights(ui).at(2, 4);
    REQUIRE(before > 0.0F);
    ui.press(Key::B);
    ui.click("mask.ink.1");
    CHECK(ui.sees("mask.bias"));
    ui.paint_cell(2, 4);
    const attention::MaskSpec& mask = ui.state().masks.by_kind[0];
    CHECK(attention::painted_count(mask.biases) == 1);
    CHECK(mask.painted.empty());
    const float bias = ui.state().view.brush_bias, grown = before * std::exp(bias);
    CHECK(std::abs(weights(ui).at(2, 4) - grown / (1.0F - before + grown)) < 1e-6F);  // observed 0
    CHECK(model_changes(ui.state()).find("1 bias painted") != std::string::npos);
    ui.wait(2.0);
    ui.paint_cell(2, 4);  // what is there already is taken away
    CHECK(mask.biases.empty());
    CHECK(weights(ui).at(2, 4) == before);
    ui.press(Key::Z, kControl);
    CHECK(attention::painted_count(mask.biases) == 1);
    ui.click("mask.reset");
    CHECK(mask.biases.empty());
  }

  TEST_CASE("the brush paints the pattern by which a head attends, row by row") {
    UiDriver ui;
    const float other = weights(ui).at(1, 4);
    ui.press(Key::B);
    ui.click("mask.ink.2");
    CHECK(ui.sees("mask.weight"));
    ui.paint_cell(2, 4);
    ui.paint_cell(2, 0);
    CHECK(weights(ui).at(2, 4) == 0.5F);  // two painted weights alike
    CHECK(weights(ui).at(2, 0) == 0.5F);
    CHECK(weights(ui).at(2, 1) == 0.0F);
    CHECK(weights(ui).at(1, 4) == other);
    CHECK(ui.state().masks == attention::MaskSet{});
    ui.press(Key::Z, kControl);
    ui.press(Key::Z, kControl);
    CHECK(ui.state().patterns.empty());
  }

  TEST_CASE("a document begins at a token, and the sidebar joins it to the one before") {
    UiDriver ui;
    ui.resize(1280, 1600);
    ui.feed(shell::click_at(ui.rect("chips.query.0.2").center(), shell::MouseButton::Right));
    REQUIRE(ui.sees("token.document"));
    ui.click("token.document");
    CHECK(weights(ui).is_masked(2, 1));
    CHECK(weights(ui).is_masked(1, 2));
    CHECK_FALSE(weights(ui).is_masked(3, 2));
    REQUIRE(ui.sees("mask.documents"));
    ui.click("mask.documents");
    CHECK(ui.state().masks == attention::MaskSet{});
    CHECK_FALSE(weights(ui).is_masked(2, 1));
  }

  TEST_CASE("a right click on a token masks its column or its row, and takes that away again") {
    UiDriver ui;
    const auto painted = [&] { return attention::painted_count(ui.state().masks.by_kind[0].painted); };
    const inference::BlockShape shape = ui.result().shapes.at(ui.state().selection.block);
    const auto open_menu = [&] {
      ui.feed(shell::click_at(ui.rect("chips.query.0.2").center(), shell::MouseButton::Right));
      REQUIRE(ui.sees("token.hide"));
    };
    open_menu();
    ui.click("token.hide");
    CHECK(painted() == shape.queries);
    CHECK(weights(ui).is_masked(4, 2));
    CHECK_FALSE(weights(ui).is_masked(2, 4));
    open_menu();
    ui.click("token.blind");
    CHECK(painted() == shape.queries + shape.keys - 1);
    CHECK(weights(ui).is_masked(2, 4));
    open_menu();
    ui.click("token.unpaint");
    CHECK(painted() == 0);
    CHECK_FALSE(ui.sees("token.hide"));
    const view::Rect map = ui.rect("head.map");  // the label of row 3, left of the map
    ui.feed(shell::click_at({map.origin.x - 10.0F, map.origin.y + map.size.y * 3.5F / static_cast<float>(shape.queries)},
                            shell::MouseButton::Right));
    REQUIRE(ui.sees("token.blind"));
    ui.click("token.blind");
    CHECK(painted() == shape.keys);
    CHECK(weights(ui).is_masked(3, 0));
  }

  TEST_CASE("the palette masks the pinned cell's row and the chosen range") {
    UiDriver ui;
    const auto run = [&](const char* command) {
      ui.press(Key::P, kControl);
      ui.type(command);
      ui.press(Key::Enter);
    };
    const auto painted = [&] { return attention::painted_count(ui.state().masks.by_kind[0].painted); };
    const inference::BlockShape shape = ui.result().shapes.at(ui.state().selection.block);
    ui.click_cell(2, 4);
    run("hide every key from");
    CHECK(painted() == shape.keys);
    CHECK(weights(ui).is_masked(2, 0));
    ui.press(Key::Z, kControl);
    run("hide the pinned cell's key");
    CHECK(painted() == shape.queries);
    CHECK(weights(ui).is_masked(0, 4));
  }

  TEST_CASE("a session's mask matrix that is smaller than the map: hovering and painting beyond it work") {
    UiDriver ui;
    State session = ui.state();
    session.masks[model::BlockKind::EncoderSelf].matrix =
        attention::BooleanMask{.queries = 2, .keys = 2, .keep = {0, 0, 0, 0}};
    const TemporaryDirectory folder;
    save_session(folder.path() / "small.headlight.json", session);
    ui.window().open_files({(folder.path() / "small.headlight.json").string()});
    ui.settle();  // the engine refuses the mask, the map on screen is the previous run's
    REQUIRE(ui.state().masks[model::BlockKind::EncoderSelf].matrix);
    const inference::BlockShape shape = ui.result().shapes.at(ui.state().selection.block);
    REQUIRE(shape.queries > 2);
    for (std::uint32_t query = 0; query < shape.queries; ++query) ui.click_cell(query, shape.keys - 1);
    ui.paint_cell(shape.queries - 1, 0);
    CHECK(attention::painted_count(ui.state().masks[model::BlockKind::EncoderSelf].painted) == 1);
    ui.press(Key::R, kControlShift);
    CHECK(ui.state().masks == attention::MaskSet{});
    CHECK_FALSE(weights(ui).is_masked(2, 4));
  }

  TEST_CASE("a click without the brush pins a cell, a second one unpins it, and neither masks") {
    UiDriver ui;
    ui.click_cell(2, 4);
    CHECK(ui.state().view.pinned == attention::Cell{.query = 2, .key = 4});
    ui.click_cell(1, 3);
    CHECK(ui.state().view.pinned == attention::Cell{.query = 1, .key = 3});
    ui.click_cell(1, 3);
    CHECK_FALSE(ui.state().view.pinned);
    CHECK(ui.state().masks == attention::MaskSet{});
    CHECK_FALSE(weights(ui).is_masked(2, 4));
  }

  TEST_CASE("the brush is a tool: B, its button and its switch take it up, a line says so, Esc lays it down") {
    UiDriver ui;
    for (const auto& size : {std::pair{1024U, 640U}, {1300U, 800U}, {1600U, 1000U}}) {
      const auto& width = size.first;
      const auto& height = size.second;
      CAPTURE(width);
      ui.resize(width, height);
      const view::Rect map = ui.rect("head.map");
      CHECK_FALSE(ui.sees("head.hint"));
      ui.press(Key::B);
      CHECK(ui.window().is_painting());
      CHECK(ui.sees("head.hint"));
      CHECK(ui.rect("head.map").origin.y == map.origin.y);  // nothing moves below the pointer
      if (width < 1600U) ui.press(Key::B);
    }
    ui.move_to("head.map");
    CHECK(ui.ui().pointer() == shell::MousePointer::Hidden);  // the brush is drawn in its place
    ui.press(Key::Escape);
    CHECK_FALSE(ui.window().is_painting());
    CHECK_FALSE(ui.sees("head.hint"));
    CHECK(ui.ui().pointer() == shell::MousePointer::Arrow);
    ui.click("head.brush");
    CHECK(ui.window().is_painting());
    ui.click("head.brush");
    CHECK_FALSE(ui.window().is_painting());
    ui.click("mask.brush");
    CHECK(ui.window().is_painting());
    ui.press(Key::B);
    CHECK_FALSE(ui.window().is_painting());
    ui.press(Key::Digit2);
    ui.press(Key::B);  // the brush is of the map
    CHECK(ui.state().view.tab == "head");
    CHECK(ui.window().is_painting());
    CHECK(ui.state().masks == attention::MaskSet{});
  }

  TEST_CASE("a key that changes the model says so, with Undo beside it, and the notice leaves by itself") {
    const auto log = std::make_shared<FakeLog>();
    UiDriver ui({}, fake_factory(log));
    show_model(ui);
    const State before = ui.state();
    ui.press(Key::K);
    REQUIRE(ui.sees("toast"));
    CHECK(ui.window().toast().text == "Layer 0 · head 0 knocked out");
    CHECK(ui.rect("toast").origin.y >= ui.rect("head.map").origin.y + ui.rect("head.map").size.y);
    ui.press(Key::Right);  // changes no model: the notice stays, and takes back what it tells of
    REQUIRE(ui.sees("toast.button"));
    ui.click("toast.button");
    CHECK(ui.state().gains.empty());
    CHECK(ui.state().selection.head == 1);
    CHECK_FALSE(ui.sees("toast"));

    for (const auto& [key, text] : {std::pair{Key::C, "Causal mask off"}, {Key::P, "Padding mask off"}}) {
      ui.press(key);
      CHECK(ui.window().toast().text == text);
      CHECK(ui.state().masks != before.masks);
      ui.click("toast.button");
      CHECK(ui.state().masks == before.masks);
    }
    ui.press(Key::C);
    ui.press(Key::R, kControlShift);
    CHECK(ui.window().toast().text == "Masks reset");
    CHECK(ui.state().masks == before.masks);
    ui.press(Key::Z, kControl);  // what it tells of is no longer so
    CHECK_FALSE(ui.sees("toast"));

    ui.press(Key::P);
    ui.wait(1.0);  // what is under the pointer now may have a tooltip, which is due earlier
    ui.settle();
    CHECK(ui.sees("toast"));
    CHECK(ui.window().redraw_after_s() > 1.0);
    CHECK(ui.window().redraw_after_s() < 10.0);
    ui.wait(3.0);
    ui.settle();
    CHECK(ui.sees("toast"));
    ui.wait(5.0);
    ui.settle();
    CHECK_FALSE(ui.sees("toast"));
    ui.press(Key::P);
    ui.press(Key::Escape);
    CHECK_FALSE(ui.sees("toast"));
    CHECK(ui.state().masks[model::BlockKind::EncoderSelf].rule.key_padding);
  }

  TEST_CASE("the notice's Undo takes back what it tells of when the history is full, and not what came after") {
    UiDriver ui({}, fake_factory(std::make_shared<FakeLog>()));
    show_model(ui);
    // Without waiting until all is drawn, in a small window: each press is a step of its own.
    constexpr int kMoreThanSteps = 510;
    double now_s = 1000.0;
    for (int i = 0; i < kMoreThanSteps; ++i) {
      ui.ui().feed(shell::tap(i % 2 == 0 ? Key::Right : Key::Left));
      while (ui.ui().has_pending_input()) ui.window().frame({640, 400}, 1.0F, now_s += 2.0);
    }
    ui.wait(now_s);
    ui.settle();
    REQUIRE(ui.window().undo().step_count() == UndoLimits().steps);
    ui.press(Key::K);
    CHECK(ui.window().toast().text == "Layer 0 · head 0 knocked out");
    ui.wait(2.0);
    ui.press(Key::Right);  // the oldest step goes, so that the newest is again the last of as many
    REQUIRE(ui.sees("toast.button"));
    ui.click("toast.button");
    CHECK(ui.state().gains.empty());
    CHECK(ui.state().selection.head == 1);
  }

  TEST_CASE("a chip stays while the model is not as it was trained, and its Reset can be undone") {
    const auto log = std::make_shared<FakeLog>();
    UiDriver ui({}, fake_factory(log));
    show_model(ui);
    CHECK_FALSE(ui.sees("status.reset"));
    ui.press(Key::K);
    ui.press(Key::P);
    ui.wait(60.0);
    ui.settle();
    REQUIRE(ui.sees("status.reset"));
    CHECK(model_changes(ui.state()) == "1 head knocked out · padding off");
    for (const Key tab : {Key::Digit1, Key::Digit2, Key::Digit3}) {
      ui.press(tab);
      CHECK(ui.sees("status.reset"));
    }
    const State changed = ui.state();
    ui.click("status.reset.button");
    CHECK_FALSE(ui.sees("status.reset"));
    CHECK(ui.state().masks == ui.state().model().trained_masks);
    CHECK(ui.state().gains.empty());
    CHECK(ui.window().undo().undo_label() == "Reset the model");
    ui.press(Key::Z, kControl);
    CHECK(ui.state().masks == changed.masks);
    CHECK(ui.state().gains == changed.gains);
    CHECK(ui.sees("status.reset"));
  }

  TEST_CASE("cards and models that are opened begin as they were trained, also the one on screen") {
    UiDriver ui({}, open_reference_runner, {}, true);
    ui.click("welcome.3");
    ui.click("welcome.notebook-001");
    ui.press(Key::P);
    CHECK(ui.sees("status.reset"));
    ui.click("welcome.3");
    ui.click("welcome.notebook-002");
    CHECK_FALSE(ui.sees("status.reset"));
    ui.press(Key::P);
    ui.click("welcome.3");
    ui.click("welcome.notebook-002");
    CHECK_FALSE(ui.sees("status.reset"));
    show_model(ui);
    ui.press(Key::K);
    ui.press(Key::C);
    CHECK(ui.sees("status.reset"));
    show_model(ui);
    CHECK_FALSE(ui.sees("status.reset"));
    CHECK(ui.state().gains.empty());
  }

  TEST_CASE("what the window remembers is the model as it was trained") {
    UiDriver ui;
    ui.press(Key::C);
    ui.paint_cell(2, 4);
    CHECK(ui.state().masks != attention::MaskSet{});
    CHECK(ui.window().settings().state.masks == attention::MaskSet{});
    CHECK(ui.window().settings().state.text() == ui.state().text());
  }
}

}  // namespace viewer_mask_test
