// The mask in the window: switches, expressions, menus of tokens, and what says that the model is not as it was trained.
#include <doctest/doctest.h>

#include <memory>
#include <utility>

#include "app/state/dropout_settings.h"
#include "app/state/flow_settings.h"
#include "app/state/map_settings.h"
#include "app/state/model_changes.h"
#include "app/ui_driver.h"
#include "engine/fake_runner.h"

namespace viewer_mask_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::kControlShift;
using shell::Key;

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
    ui.click("mask.paint_reach.3");
    CHECK(ui.state()[kBrush.reach] == PaintReach::AllLayers);
    ui.click("mask.reset");
    CHECK(ui.state().masks == attention::MaskSet{});
    ui.press(Key::Z, kControl);
    CHECK(ui.state().masks.by_kind[0].rule.window == 3);
  }

  TEST_CASE("dropout: its sites are switched, the run has it, and restoring the model takes it away") {
    State state = with_text("one two three");
    state.settings.set(kDropout.probability, 0.5F);
    UiDriver ui(state);
    ui.resize(1280, 1800);
    for (const char* site : {"mask.dropout_embeddings", "mask.dropout_branches", "mask.dropout_feed_forward"})
      ui.click(site);
    CHECK(ui.state().settings == Choices()
                                     .set(kDropout.probability, 0.5F)
                                     .set(kDropout.embeddings, false)
                                     .set(kDropout.branches, false)
                                     .set(kDropout.inner, false));
    ui.settle();
    CHECK(model_changes(ui.state()) == "dropout 0.5 of weights, seed 1");
    State restored = ui.state();
    restore_training(restored);
    CHECK(restored.settings == Choices());
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
    const chart::Rect map = ui.rect("head.map");  // the label of row 3, left of the map
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

  TEST_CASE("a key that changes the model says so, with Undo beside it, and the notice leaves by itself") {
    const auto log = std::make_shared<FakeLog>();
    UiDriver ui({}, fake_factory(log));
    show_golden_model(ui, "gpt2");
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
    show_golden_model(ui, "gpt2");
    // The presses don't wait until all is drawn, in a small window: each press is a step of its own.
    constexpr int kMoreThanSteps = 510;
    double now_s = 1000.0;
    for (int i = 0; i < kMoreThanSteps; ++i) {
      ui.ui().feed(shell::tap(Key::C));
      while (ui.ui().has_pending_input()) ui.window().frame({640, 400}, 1.0F, now_s += 2.0);
    }
    ui.wait(now_s);
    ui.settle();
    REQUIRE(ui.window().undo().step_count() == UndoLimits().steps);
    ui.press(Key::K);
    CHECK(ui.window().toast().text == "Layer 0 · head 0 knocked out");
    ui.wait(2.0);
    ui.show("flow");
    ui.wait(2.0);
    ui.click("flow.method.1");  // the oldest step goes, so that the newest is again the last of as many
    REQUIRE(ui.sees("toast.button"));
    ui.click("toast.button");
    CHECK(ui.state().gains.empty());
    CHECK(ui.state()[kFlowView.method] == FlowMethod::Rollout);
  }

  TEST_CASE("chips stay while the model is not as it was trained, and that all are off can be undone") {
    const auto log = std::make_shared<FakeLog>();
    UiDriver ui({}, fake_factory(log));
    show_golden_model(ui, "gpt2");
    CHECK_FALSE(ui.sees("change.all"));
    ui.press(Key::K);
    CHECK(ui.sees("toast"));
    CHECK(ui.sees("change.0.off"));
    ui.press(Key::P);
    ui.wait(60.0);
    ui.settle();
    REQUIRE(ui.sees("change.all"));
    CHECK_FALSE(ui.sees("toast"));
    CHECK(model_changes(ui.state()) == "L0H0 knocked out · padding off");
    for (const Key tab : {Key::Digit1, Key::Digit2, Key::Digit3}) {
      ui.press(tab);
      CHECK(ui.sees("change.all"));
    }
    const State changed = ui.state();
    ui.click("change.all");
    CHECK_FALSE(ui.sees("change.all"));
    CHECK(ui.state().masks == ui.state().model().trained_masks);
    CHECK(ui.state().gains.empty());
    CHECK(ui.window().undo().undo_label() == "Reset the model");
    ui.press(Key::Z, kControl);
    CHECK(ui.state().masks == changed.masks);
    CHECK(ui.state().gains == changed.gains);
    CHECK(ui.sees("change.all"));
  }

  TEST_CASE("cards and models that are opened begin as they were trained, also the one on screen") {
    UiDriver ui({}, open_reference_runner, {}, true);
    ui.click("welcome.3");
    ui.click("welcome.notebook-001");
    ui.press(Key::P);
    CHECK(ui.sees("change.all"));
    ui.press(Key::F2);
    ui.click("welcome.3");
    ui.click("welcome.notebook-002");
    CHECK_FALSE(ui.sees("change.all"));
    ui.press(Key::P);
    ui.press(Key::F2);
    ui.click("welcome.3");
    ui.click("welcome.notebook-002");
    CHECK_FALSE(ui.sees("change.all"));
    show_golden_model(ui, "gpt2");
    ui.press(Key::K);
    ui.press(Key::C);
    CHECK(ui.sees("change.all"));
    show_golden_model(ui, "gpt2");
    CHECK_FALSE(ui.sees("change.all"));
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
