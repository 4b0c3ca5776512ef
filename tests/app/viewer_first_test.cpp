// What a newcomer meets: the first sight, the welcome panel, the translator that writes along.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "app/hand.h"
#include "app/models/bundled_models.h"
#include "app/models/starter_view.h"
#include "app/state/state_json.h"

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;
using shell::kShift;

namespace {

const std::string kMarian = std::string(HEADLIGHT_GOLDEN_DIR) + "/models/marian";

State first_sight() {
  ModelCache models;
  FirstState first = first_state(models);
  REQUIRE_MESSAGE(first.model, first.warning.value_or(""));
  return first.state;
}

void show_marian(Hand& hand) {
  hand.window().open_model(kMarian);
  hand.settle();
  REQUIRE_MESSAGE(hand.state().model.path == kMarian, hand.window().notice().text);
}

State with_text(const std::string& text) {
  State state;
  state.text = text;
  return state;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the first sights exist in the bundled models") {
    for (const FirstSight* sight : {&kCaptionsSight, &kTranslatorSight}) {
      const auto path = find_bundled_model(sight->model);
      REQUIRE_MESSAGE(path, sight->model);
      const auto model = inference::open_model(*path);
      CHECK(find_sight(*model) == sight);
      const std::vector<model::BlockRef> blocks = model->network->blocks();
      CHECK(std::ranges::find(blocks, sight->block) != blocks.end());
      CHECK(sight->head < model->network->layer(sight->block).config.heads);
      State state;
      select_first_head(state, *model);
      CHECK(state.selection.block == sight->block);
      CHECK(state.selection.head == sight->head);
    }
    CHECK_FALSE(find_bundled_model("no-such-model"));
  }

  TEST_CASE("other encoder–decoders begin with their last layer's cross-attention") {
    const auto model = inference::open_model(kMarian);
    CHECK(find_sight(*model) == nullptr);
    State state;
    select_first_head(state, *model);
    CHECK(state.selection.block.kind == model::BlockKind::Cross);
    CHECK(state.selection.block.layer.value == model->description.decoder_layers - 1);
  }

  TEST_CASE("a bundled model is found again when the program has moved; others stay as they are") {
    State state;
    state.model.path = std::string("/nowhere/share/headlight/models/captions-gpt2");
    find_moved_model(state);
    CHECK(state.model.path == find_bundled_model("captions-gpt2")->string());
    state.model.path = std::string("/nowhere/gpt2");
    find_moved_model(state);
    CHECK(state.model.path == "/nowhere/gpt2");
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("the first start shows captions-gpt2, its selected head and every thumbnail") {
    Hand hand(first_sight(), open_reference_runner, {}, true);
    CHECK(hand.result().error == "");
    REQUIRE(hand.result().model);
    CHECK(hand.result().model->path.filename() == "captions-gpt2");
    CHECK(hand.state().text == kCaptionsSight.text);
    CHECK(hand.state().selection.block == kCaptionsSight.block);
    CHECK(hand.state().selection.head == kCaptionsSight.head);
    CHECK(hand.sees("head.map"));
    CHECK(hand.rect("head.map").height > 200.0F);
    CHECK(hand.sees("grid.encoder.0.0"));
    CHECK(hand.sees("grid.encoder.3.7"));
    CHECK(hand.window().shows_all_maps());
    CHECK_FALSE(hand.window().undo().can_undo());
  }

  TEST_CASE("the welcome panel leaves the map in sight, is dismissed, stays dismissed, and comes back") {
    Hand hand(with_text("one two three"), open_reference_runner, {}, true);
    REQUIRE(hand.sees("welcome.0"));
    for (const auto& [width, height] : {std::pair{1000U, 640U}, std::pair{1600U, 1000U}, std::pair{2560U, 1440U}}) {
      hand.resize(width, height);
      CAPTURE(width);
      CHECK(hand.sees("head.map"));
      const shell::UiRect last = hand.rect("welcome.9");
      CHECK(last.x + last.width <= static_cast<float>(width));
      CHECK(last.y + last.height < hand.rect("head.map").y);
    }
    hand.press(Key::Escape);
    CHECK_FALSE(hand.sees("welcome.0"));
    CHECK_FALSE(hand.window().settings().shows_welcome);
    hand.settle();
    CHECK_FALSE(hand.sees("welcome.0"));
    hand.press(Key::F2);
    REQUIRE(hand.sees("welcome.0"));
    hand.press(Key::F2);
    CHECK_FALSE(hand.sees("welcome.0"));
    hand.press(Key::F2);
    hand.click("welcome.close");
    CHECK_FALSE(hand.sees("welcome.0"));
    hand.click("menu.Help");
    hand.click("menu.Welcome");
    CHECK(hand.sees("welcome.0"));
  }

  TEST_CASE("cards are chosen with the mouse and with Tab and Enter") {
    Hand hand(with_text("one two three"), open_reference_runner, {}, true);
    hand.click("welcome.notebook-001");
    CHECK(hand.state().preset == "notebook-001");
    CHECK(hand.window().undo().undo_label() == "Show notebook-001");
    CHECK(hand.sees("welcome.0"));
    hand.press(Key::Tab);
    hand.press(Key::Enter);
    CHECK(hand.state().preset == "notebook-002");
    hand.press(Key::Tab, kShift);
    hand.press(Key::Tab, kShift);
    hand.press(Key::Space);
    CHECK(hand.state().preset == "notebook-000");
    hand.click("welcome.9");
    CHECK(hand.window().model_browser().is_open());
  }

  TEST_CASE("the translator's card opens it on German, with the translation beside it") {
    Hand hand(first_sight(), open_reference_runner, {}, true);
    hand.click("welcome.1");
    REQUIRE(hand.result().model);
    CHECK(hand.result().model->path.filename() == "multi30k-de-en");
    CHECK(hand.state().text == kTranslatorSight.text);
    CHECK(hand.state().selection.block == kTranslatorSight.block);
    CHECK(hand.rect("text.edit").x < hand.rect("text.target").x);
    CHECK(hand.rect("text.edit").y == hand.rect("text.target").y);
    REQUIRE(hand.result().translated);
    CHECK(hand.result().translated->is_done);
    CHECK(hand.result().translated->lines.front().size() > 3);
    CHECK(hand.sees("chips.target.0.1"));
    CHECK(hand.window().undo().undo_label() == "Open model");
    hand.press(Key::Z, kControl);
    CHECK(hand.state().text == kCaptionsSight.text);
  }

  TEST_CASE("the translation follows every keystroke and is no part of what is undone or saved") {
    Hand hand(with_text("a"));
    show_marian(hand);
    REQUIRE(hand.result().translated);
    const std::vector<std::string> before = hand.result().translated->lines;
    const std::size_t steps = hand.window().undo().step_count();
    hand.click("text.edit");
    hand.press(Key::End);
    hand.type(" b");
    CHECK(hand.window().undo().step_count() == steps + 1);
    CHECK(hand.result().inputs->text == "a b");
    CHECK(hand.result().translated->is_done);
    CHECK(hand.state().model.target_text.empty());
    CHECK(hand.state().model.target_ids.empty());
    CHECK(to_json(hand.state())["model"]["target_text"] == "");
    hand.press(Key::Z, kControl);
    CHECK(hand.state().text == "a");
    CHECK(hand.result().translated->lines == before);
  }

  TEST_CASE("typing into the translation makes it the person's own, and the model takes over again when asked") {
    Hand hand(with_text("a b"));
    show_marian(hand);
    const std::string written = hand.result().translated->lines.front();
    REQUIRE_FALSE(written.empty());
    hand.fill_in("text.target", "b");
    CHECK(hand.state().model.target_text == "b");
    CHECK_FALSE(hand.state().model.translates);
    CHECK_FALSE(hand.result().translated);
    CHECK(hand.result().prompt->target_tokens.front().back().text == "b");
    hand.fill_in("text.target", "");  // an empty target is the person's too
    CHECK(hand.result().input->target->length == 1);
    CHECK_FALSE(hand.result().translated);
    hand.click("text.translate");
    REQUIRE(hand.result().translated);
    CHECK(hand.result().translated->lines.front() == written);
    hand.wait(2.0);
    hand.click("text.write");
    CHECK(hand.state().model.target_text == written);
    CHECK_FALSE(hand.state().model.translates);
    hand.press(Key::Z, kControl);
    CHECK(hand.state().model.target_text.empty());
    CHECK(hand.result().translated);
  }

  TEST_CASE("a text that can't be translated shows why and no other text's translation") {
    Hand hand(with_text("a b"));
    show_marian(hand);
    REQUIRE_FALSE(hand.result().translated->lines.front().empty());
    hand.fill_in("text.edit", "");
    CHECK(hand.sees("text.warning"));
    CHECK(hand.window().shown_translation().empty());
    hand.fill_in("text.edit", "b");
    CHECK_FALSE(hand.sees("text.warning"));
    CHECK(hand.window().shown_translation() == hand.result().translated->lines.front());
    hand.click("model.close");
    CHECK_FALSE(hand.sees("text.target"));
    CHECK_FALSE(hand.result().translated);
  }

  TEST_CASE("a token under the pointer shades the tokens it attends to") {
    Hand hand(with_text("a b"));
    show_marian(hand);
    hand.move_to("chips.target.0.1");
    CHECK(hand.window().followed_query() == 1U);
    hand.move_to("tab.head");
    CHECK_FALSE(hand.window().followed_query());
    hand.click("chips.target.0.1");
    hand.move_to("tab.head");
    CHECK(hand.window().followed_query() == 1U);
  }
}
