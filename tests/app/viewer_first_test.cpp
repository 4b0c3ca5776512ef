// The first steps of a newcomer: the first starter, the welcome panel, the translator that writes along.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "app/models/starter_view.h"
#include "app/state/state_json.h"
#include "app/ui_driver.h"

namespace viewer_first_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;
using shell::kShift;

namespace {

const std::string kMarian = std::string(HEADLIGHT_GOLDEN_DIR) + "/models/marian";

State starter_view() {
  ModelCache models;
  FirstState first = first_state(models);
  REQUIRE_MESSAGE(first.model, first.warning.value_or(""));
  return first.state;
}

void show_marian(UiDriver& ui) {
  ui.window().open_model(kMarian);
  ui.settle();
  REQUIRE_MESSAGE(model_path(ui.state().source) == kMarian, ui.window().notice().text);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the starter views exist in the bundled models") {
    for (const StarterView* starter : {&kCaptionsStarter, &kTranslatorStarter}) {
      const auto path = find_bundled_model(starter->model);
      REQUIRE_MESSAGE(path, starter->model);
      const auto model = inference::open_model(*path);
      CHECK(find_starter_view(*model) == starter);
      const std::vector<model::BlockRef> blocks = model->network->blocks();
      CHECK(std::ranges::find(blocks, starter->block) != blocks.end());
      CHECK(starter->head < model->network->layer(starter->block).config.heads);
      State state;
      select_first_head(state, *model);
      CHECK(state.selection.block == starter->block);
      CHECK(state.selection.head == starter->head);
    }
    CHECK_FALSE(find_bundled_model("no-such-model"));
  }

  TEST_CASE("other encoder–decoders begin with their last layer's cross-attention") {
    const auto model = inference::open_model(kMarian);
    CHECK(find_starter_view(*model) == nullptr);
    State state;
    select_first_head(state, *model);
    CHECK(state.selection.block.kind == model::BlockKind::Cross);
    CHECK(state.selection.block.layer.value == model->description.decoder_layers - 1);
  }

  TEST_CASE("a bundled model is found again when the program has moved; others stay as they are") {
    State state;
    change_to_model(state, std::string("/nowhere/share/headlight/models/captions-gpt2"));
    find_moved_model(state);
    CHECK(model_path(state.source) == find_bundled_model("captions-gpt2")->string());
    change_to_model(state, std::string("/nowhere/gpt2"));
    find_moved_model(state);
    CHECK(model_path(state.source) == "/nowhere/gpt2");
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("the first start shows captions-gpt2, its selected head and every thumbnail") {
    UiDriver ui(starter_view(), open_reference_runner, {}, true);
    CHECK(ui.result().error == "");
    REQUIRE(ui.result().model);
    CHECK(ui.result().model->path.filename() == "captions-gpt2");
    CHECK(ui.state().text() == kCaptionsStarter.text);
    CHECK(ui.state().selection.block == kCaptionsStarter.block);
    CHECK(ui.state().selection.head == kCaptionsStarter.head);
    CHECK(ui.sees("head.map"));
    CHECK(ui.rect("head.map").size.y > 200.0F);
    CHECK(ui.sees("grid.encoder.0.0"));
    CHECK(ui.sees("grid.encoder.3.7"));
    CHECK(ui.window().shows_all_maps());
    CHECK_FALSE(ui.window().undo().can_undo());
    CHECK(ui.sees("view.sentence"));
    CHECK(plain_text(ui.window().sentence()).starts_with("A head is one way of looking"));  // while Welcome is shown
    CHECK_FALSE(ui.sees("text.misfit"));                                                    // its text is an example
    ui.fill_in("text.edit", "Parliament votes on the budget");
    CHECK(ui.sees("text.misfit"));
    check_tips(ui);
  }

  TEST_CASE("the welcome panel leaves the map in starter, is dismissed, stays dismissed, and comes back") {
    UiDriver ui(with_text("one two three"), open_reference_runner, {}, true);
    REQUIRE(ui.sees("welcome.0"));
    for (const auto& size :
         {std::pair{1024U, 640U}, std::pair{972U, 576U}, std::pair{1600U, 1000U}, std::pair{2560U, 1440U}}) {
      const auto& width = size.first;
      const auto& height = size.second;
      ui.resize(width, height);
      CAPTURE(width);
      CHECK(ui.sees("head.map"));
      const chart::Rect last = ui.rect("welcome.4");
      CHECK_FALSE(ui.sees("welcome.5"));
      CHECK(last.origin.x + last.size.x <= static_cast<float>(width));
      CHECK(last.end().y < ui.rect("text.edit").origin.y);  // nothing of the panel is cut off
    }
    ui.press(Key::Escape);
    CHECK_FALSE(ui.sees("welcome.0"));
    CHECK_FALSE(ui.window().settings().shows_welcome);
    ui.settle();
    CHECK_FALSE(ui.sees("welcome.0"));
    ui.press(Key::F2);
    REQUIRE(ui.sees("welcome.0"));
    ui.press(Key::F2);
    CHECK_FALSE(ui.sees("welcome.0"));
    ui.press(Key::F2);
    ui.click("welcome.close");
    CHECK_FALSE(ui.sees("welcome.0"));
    ui.click("menu.Help");
    ui.click("menu.Welcome");
    CHECK(ui.sees("welcome.0"));
  }

  TEST_CASE("cards are chosen with the mouse and with Tab and Enter") {
    UiDriver ui(with_text("one two three"), open_reference_runner, {}, true);
    CHECK_FALSE(ui.sees("welcome.notebook-001"));
    ui.click("welcome.3");
    REQUIRE(ui.sees("welcome.notebook-000"));
    ui.press(Key::Escape);
    CHECK(ui.sees("welcome.0"));
    CHECK_FALSE(ui.sees("welcome.notebook-001"));
    ui.press(Key::Tab);
    ui.press(Key::Enter);
    CHECK(ui.window().model_browser().is_open());
    ui.press(Key::Escape);
    ui.press(Key::Tab, kShift);
    ui.press(Key::Space);
    REQUIRE(ui.sees("welcome.notebook-000"));
    ui.press(Key::Down);
    ui.press(Key::Enter);
    CHECK(is_notebook(ui.state().source));
    CHECK_FALSE(ui.sees("welcome.0"));  // what was chosen gets its room
    ui.press(Key::F2);
    ui.click("welcome.3");
    ui.click("welcome.notebook-001");
    CHECK(notebook_name(ui.state().source) == "notebook-001");
    CHECK(ui.window().undo().undo_label() == "Show notebook-001");
    CHECK_FALSE(ui.sees("welcome.0"));
  }

  TEST_CASE("the translator's card opens it on German, with the translation beside it") {
    UiDriver ui(starter_view(), open_reference_runner, {}, true);
    ui.click("welcome.1");
    REQUIRE(ui.result().model);
    CHECK(ui.result().model->path.filename() == "multi30k-de-en");
    CHECK(ui.state().text() == kTranslatorStarter.text);
    CHECK(ui.state().selection.block == kTranslatorStarter.block);
    CHECK(ui.rect("text.edit").origin.x < ui.rect("text.target").origin.x);
    CHECK(ui.rect("text.edit").origin.y == ui.rect("text.target").origin.y);
    REQUIRE(ui.result().translated);
    CHECK(ui.result().translated->is_done);
    CHECK(ui.result().translated->lines.front().size() > 3);
    CHECK(ui.sees("chips.target.0.1"));
    CHECK(ui.window().undo().undo_label() == "Open model");
    ui.press(Key::Z, kControl);
    CHECK(ui.state().text() == kCaptionsStarter.text);
  }

  TEST_CASE("the translation follows every keystroke and is no part of what is undone or saved") {
    UiDriver ui(with_text("a"));
    show_marian(ui);
    REQUIRE(ui.result().translated);
    const std::vector<std::string> before = ui.result().translated->lines;
    const std::size_t steps = ui.window().undo().step_count();
    ui.click("text.edit");
    ui.press(Key::End);
    ui.type(" b");
    CHECK(ui.window().undo().step_count() == steps + 1);
    CHECK(std::get<Model>(ui.result().inputs->source).text == "a b");
    CHECK(ui.result().translated->is_done);
    CHECK(ui.state().model().target_text.empty());
    CHECK(ui.state().model().target_ids.empty());
    CHECK(to_json(ui.state())["model"]["target_text"] == "");
    ui.press(Key::Z, kControl);
    CHECK(ui.state().text() == "a");
    CHECK(ui.result().translated->lines == before);
  }

  TEST_CASE("typing into the translation makes it the user's own, and the model takes over again when asked") {
    UiDriver ui(with_text("a b"));
    show_marian(ui);
    const std::string written = ui.result().translated->lines.front();
    REQUIRE_FALSE(written.empty());
    ui.fill_in("text.target", "b");
    CHECK(ui.state().model().target_text == "b");
    CHECK_FALSE(ui.state().model().translates);
    CHECK_FALSE(ui.result().translated);
    CHECK(ui.result().prompt->target_tokens.front().back().text == "b");
    ui.fill_in("text.target", "");  // an empty target is the user's too
    CHECK(ui.result().input->target->length == 1);
    CHECK_FALSE(ui.result().translated);
    ui.click("text.translate");
    REQUIRE(ui.result().translated);
    CHECK(ui.result().translated->lines.front() == written);
    ui.wait(2.0);
    ui.click("text.write");
    CHECK(ui.state().model().target_text == written);
    CHECK_FALSE(ui.state().model().translates);
    ui.press(Key::Z, kControl);
    CHECK(ui.state().model().target_text.empty());
    CHECK(ui.result().translated);
  }

  TEST_CASE("a text that can't be translated shows why and no other text's translation") {
    UiDriver ui(with_text("a b"));
    show_marian(ui);
    REQUIRE_FALSE(ui.result().translated->lines.front().empty());
    ui.fill_in("text.edit", "");
    CHECK(ui.sees("stale.error"));
    CHECK(ui.window().shown_translation().empty());
    ui.fill_in("text.edit", "b");
    CHECK_FALSE(ui.sees("stale.error"));
    CHECK(ui.window().shown_translation() == ui.result().translated->lines.front());
    ui.click("model.close");
    CHECK_FALSE(ui.sees("text.target"));
    CHECK_FALSE(ui.result().translated);
  }

  TEST_CASE("a token under the pointer shades the tokens it attends to") {
    UiDriver ui(with_text("a b"));
    show_marian(ui);
    ui.move_to("chips.target.0.1");
    CHECK(ui.window().followed_query() == 1U);
    ui.move_to("tabs.Look");
    CHECK_FALSE(ui.window().followed_query());
    ui.click("chips.target.0.1");
    ui.move_to("tabs.Look");
    CHECK(ui.window().followed_query() == 1U);
  }
}

}  // namespace viewer_first_test
