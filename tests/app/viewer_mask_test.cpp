// The mask in the window: switches, the brush, and what says that the model is not as it was trained.
#include <doctest/doctest.h>

#include "app/fake_runner.h"
#include "app/hand.h"
#include "app/state/departures.h"

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::kControlShift;
using shell::Key;

namespace {

const std::string kGpt2 = std::string(HEADLIGHT_GOLDEN_DIR) + "/models/gpt2";

/// A window that shows a small trained model, which is causal.
void show_model(Hand& hand) {
  hand.window().open_model(kGpt2);
  hand.settle();
  REQUIRE_MESSAGE(hand.state().model.path == kGpt2, hand.window().notice().text);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("switches, segments and reset of the mask") {
    Hand hand;
    hand.click("mask.causal");
    CHECK(hand.state().masks.by_kind[0].rule.causal);
    hand.click("mask.padding");
    CHECK_FALSE(hand.state().masks.by_kind[0].rule.key_padding);
    hand.click("mask.fill.1");
    CHECK(hand.state().masks.by_kind[0].fill == attention::MaskFill::MinusOneBillion);
    hand.click_within("mask.window", 0.5F, 0.5F);
    CHECK(hand.state().masks.by_kind[0].rule.window == 3);
    hand.click("mask.reach.2");
    CHECK(hand.state().view.paint_reach == PaintReach::AllLayers);
    hand.click("mask.reset");
    CHECK(hand.state().masks == attention::MaskSet{});
    hand.press(Key::Z, kControl);
    CHECK(hand.state().masks.by_kind[0].rule.window == 3);
  }

  TEST_CASE("the brush masks a cell, the weights follow, undo shows it again") {
    Hand hand;
    CHECK_FALSE(weights(hand).is_masked(2, 4));
    hand.paint_cell(2, 4);
    CHECK(hand.state().masks.by_kind[0].painted.size() == 1);
    CHECK(weights(hand).is_masked(2, 4));
    CHECK(weights(hand).at(2, 4) == 0.0F);
    hand.press(Key::Z, kControl);
    CHECK(hand.state().masks.by_kind[0].painted.empty());
    CHECK_FALSE(weights(hand).is_masked(2, 4));
    hand.press(Key::Y, kControl);
    CHECK(weights(hand).is_masked(2, 4));
    hand.wait(2.0);
    hand.paint_cell(2, 4);
    CHECK(hand.state().masks.by_kind[0].painted.empty());
  }

  TEST_CASE("a click without the brush pins a cell, a second one unpins it, and neither masks") {
    Hand hand;
    hand.click_cell(2, 4);
    CHECK(hand.state().view.pinned == attention::Cell{.query = 2, .key = 4});
    hand.click_cell(1, 3);
    CHECK(hand.state().view.pinned == attention::Cell{.query = 1, .key = 3});
    hand.click_cell(1, 3);
    CHECK_FALSE(hand.state().view.pinned);
    CHECK(hand.state().masks == attention::MaskSet{});
    CHECK_FALSE(weights(hand).is_masked(2, 4));
  }

  TEST_CASE("the brush is a tool: B, its button and its switch take it up, a line says so, Esc lays it down") {
    Hand hand;
    for (const auto& [width, height] : {std::pair{1024U, 640U}, {1300U, 800U}, {1600U, 1000U}}) {
      CAPTURE(width);
      hand.resize(width, height);
      const shell::UiRect map = hand.rect("head.map");
      CHECK_FALSE(hand.sees("head.hint"));
      hand.press(Key::B);
      CHECK(hand.window().is_painting());
      CHECK(hand.sees("head.hint"));
      CHECK(hand.rect("head.map").y == map.y);  // nothing moves below the pointer
      if (width < 1600U) hand.press(Key::B);
    }
    hand.move_to("head.map");
    CHECK(hand.ui().pointer() == shell::MousePointer::Hidden);  // the brush is drawn in its place
    hand.press(Key::Escape);
    CHECK_FALSE(hand.window().is_painting());
    CHECK_FALSE(hand.sees("head.hint"));
    CHECK(hand.ui().pointer() == shell::MousePointer::Arrow);
    hand.click("head.brush");
    CHECK(hand.window().is_painting());
    hand.click("head.brush");
    CHECK_FALSE(hand.window().is_painting());
    hand.click("mask.brush");
    CHECK(hand.window().is_painting());
    hand.press(Key::B);
    CHECK_FALSE(hand.window().is_painting());
    hand.press(Key::Digit2);
    hand.press(Key::B);  // the brush is of the map
    CHECK(hand.state().view.tab == Tab::Head);
    CHECK(hand.window().is_painting());
    CHECK(hand.state().masks == attention::MaskSet{});
  }

  TEST_CASE("a key that changes the model says so, with Undo beside it, and the notice leaves by itself") {
    const auto log = std::make_shared<FakeLog>();
    Hand hand({}, fake_factory(log));
    show_model(hand);
    const State before = hand.state();
    hand.press(Key::K);
    REQUIRE(hand.sees("toast"));
    CHECK(hand.window().toast().text == "Layer 0 · head 0 knocked out");
    CHECK(hand.rect("toast").y >= hand.rect("head.map").y + hand.rect("head.map").height);
    hand.press(Key::Right);  // changes no model: the notice stays, and takes back what it tells of
    REQUIRE(hand.sees("toast.button"));
    hand.click("toast.button");
    CHECK(hand.state().gains.empty());
    CHECK(hand.state().selection.head == 1);
    CHECK_FALSE(hand.sees("toast"));

    for (const auto& [key, text] : {std::pair{Key::C, "Causal mask off"}, {Key::P, "Padding mask off"}}) {
      hand.press(key);
      CHECK(hand.window().toast().text == text);
      CHECK(hand.state().masks != before.masks);
      hand.click("toast.button");
      CHECK(hand.state().masks == before.masks);
    }
    hand.press(Key::C);
    hand.press(Key::R, kControlShift);
    CHECK(hand.window().toast().text == "Masks reset");
    CHECK(hand.state().masks == before.masks);
    hand.press(Key::Z, kControl);  // what it tells of is no longer so
    CHECK_FALSE(hand.sees("toast"));

    hand.press(Key::P);
    hand.wait(1.0);  // what is under the pointer now may have a tooltip, which is due earlier
    hand.settle();
    CHECK(hand.sees("toast"));
    CHECK(hand.window().redraw_after_s() > 1.0);
    CHECK(hand.window().redraw_after_s() < 10.0);
    hand.wait(3.0);
    hand.settle();
    CHECK(hand.sees("toast"));
    hand.wait(5.0);
    hand.settle();
    CHECK_FALSE(hand.sees("toast"));
    hand.press(Key::P);
    hand.press(Key::Escape);
    CHECK_FALSE(hand.sees("toast"));
    CHECK(hand.state().masks[model::BlockKind::EncoderSelf].rule.key_padding);
  }

  TEST_CASE("a chip stays while the model is not as it was trained, and its Reset can be undone") {
    const auto log = std::make_shared<FakeLog>();
    Hand hand({}, fake_factory(log));
    show_model(hand);
    CHECK_FALSE(hand.sees("status.reset"));
    hand.press(Key::K);
    hand.press(Key::P);
    hand.wait(60.0);
    hand.settle();
    REQUIRE(hand.sees("status.reset"));
    CHECK(departures(hand.state()) == "1 head knocked out · padding off");
    for (const Key tab : {Key::Digit1, Key::Digit2, Key::Digit3}) {
      hand.press(tab);
      CHECK(hand.sees("status.reset"));
    }
    const State changed = hand.state();
    hand.click("status.reset.button");
    CHECK_FALSE(hand.sees("status.reset"));
    CHECK(hand.state().masks == hand.state().model_masks);
    CHECK(hand.state().gains.empty());
    CHECK(hand.window().undo().undo_label() == "Reset the model");
    hand.press(Key::Z, kControl);
    CHECK(hand.state().masks == changed.masks);
    CHECK(hand.state().gains == changed.gains);
    CHECK(hand.sees("status.reset"));
  }

  TEST_CASE("cards and models that are opened begin as they were trained, also the one on screen") {
    Hand hand({}, open_reference_runner, {}, true);
    hand.click("welcome.notebook-001");
    hand.press(Key::P);
    CHECK(hand.sees("status.reset"));
    hand.click("welcome.notebook-002");
    CHECK_FALSE(hand.sees("status.reset"));
    hand.press(Key::P);
    hand.click("welcome.notebook-002");
    CHECK_FALSE(hand.sees("status.reset"));
    show_model(hand);
    hand.press(Key::K);
    hand.press(Key::C);
    CHECK(hand.sees("status.reset"));
    show_model(hand);
    CHECK_FALSE(hand.sees("status.reset"));
    CHECK(hand.state().gains.empty());
  }

  TEST_CASE("what the window remembers is the model as it was trained") {
    Hand hand;
    hand.press(Key::C);
    hand.paint_cell(2, 4);
    CHECK(hand.state().masks != attention::MaskSet{});
    CHECK(hand.window().settings().state.masks == attention::MaskSet{});
    CHECK(hand.window().settings().state.text == hand.state().text);
  }
}
