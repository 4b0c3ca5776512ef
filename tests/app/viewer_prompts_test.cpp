// Experiments over a set of prompts in the window.
#include <doctest/doctest.h>
#include <imgui.h>

#include "app/data/prompts/prompt_room.h"
#include "app/engine/gpu_runner.h"
#include "app/models/starter_view.h"
#include "app/state/comparison.h"
#include "app/state/logits_settings.h"
#include "app/state/predictions_settings.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "app/views/prompts/prompts_parts.h"
#include "core/file.h"
#include "support/temporary_directory.h"

namespace viewer_prompts_test {

using namespace headlight;
using namespace headlight::app;

namespace {

constexpr const char* kPrompts =
    R"({"text": "a dog runs in the", "corrupted": "a cat runs in the", "positions": {"A": "dog"}, "answer": " grass", "wrong": " water"}
{"text": "a child on a bike", "corrupted": "a girl on a bike", "positions": {"A": "child"}, "answer": " in", "wrong": " on"}
{"text": "a man", "answer": " Xylophonic"}
)";

struct Set {
  Set() { write_file_atomically(folder.path() / "set.jsonl", std::string(kPrompts)); }
  TemporaryDirectory folder;
};

State of_captions(const Set& set) {
  State state;
  change_to_model(state, find_bundled_model("captions-gpt2")->string());
  state.model().text = "a man in a red shirt";
  state.set(kPromptsView.set, (set.folder.path() / "set.jsonl").string());
  return state;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("the view shows means of a set; a prompt, a cell and a double click show what they are of") {
    const Set set;
    UiDriver ui(of_captions(set), open_gpu_runner);
    ui.show("prompts");
    ui.settle();
    check_tips(ui);
    const auto found = ui.window().prompts().findings();
    REQUIRE(found);
    CHECK(found->error == "");
    CHECK(found->included() == 2);
    CHECK(found->measured() == 2);
    CHECK(ui.sees("prompts.cell.3.7"));
    CHECK(ui.window().describe().find("What knocking out each head changes") != std::string::npos);
    // A click on a prompt is one step: text, corrupted text, answers.
    const std::size_t steps = ui.window().undo().step_count();
    ui.wait(5.0);
    ui.click("prompts.row.1");
    ui.settle();
    CHECK(ui.state().text() == "a child on a bike");
    REQUIRE(has_second_text(ui.state()));
    CHECK(second_text(ui.state()) == "a girl on a bike");
    CHECK(ui.state()[kLogitsView.token] == (*found->fitted)[1].answer);
    CHECK(ui.state()[kLogitsView.other] == (*found->fitted)[1].wrong);
    CHECK(ui.window().undo().step_count() == steps + 1);
    CHECK(ui.window().prompts().findings() == found);  // nothing is measured again
    ui.press(shell::Key::Z, shell::kControl);
    ui.settle();
    CHECK(ui.state().text() == "a man in a red shirt");
    CHECK_FALSE(has_second_text(ui.state()));
    // A cell selects its head; the lowest prompt of it is a click away.
    ui.wait(5.0);
    ui.click("prompts.cell.2.5");
    ui.settle();
    CHECK(ui.state().selection.block.layer.value == 2);
    CHECK(ui.state().selection.head == 5);
    const PromptSpread spread = spread_of(*found, 0, 2 * 8 + 5);
    CHECK(spread.count == 2);
    CHECK(plain_text(ui.window().sentence()).starts_with("Without L2 H5 the logit difference changes by "));
    CHECK((plain_text(ui.window().sentence()).find(" matters most, ") != std::string::npos) ==
          (strongest_cell(*found, 0) != std::size_t{2 * 8 + 5}));
    ui.wait(5.0);
    ui.click("prompts.lowest");
    ui.settle();
    CHECK(ui.state().text() == found->set->prompts[spread.lowest].text);
    // Named positions: a chosen cell, and the view that shows one prompt of it.
    ui.click("prompts.experiment.1");
    ui.settle();
    check_tips(ui);
    CHECK(ui.window().prompts().findings()->columns == std::vector<std::string>{"A", "end"});
    ui.wait(5.0);
    ui.click("prompts.cell.0.1");
    ui.click("prompts.cell.0.1");
    ui.settle();
    CHECK(ui.state()[kPromptsView.position] == "A");
    CHECK(ui.state()[kPromptsView.layer] == 1);
    CHECK(ui.state().view.tab == "patching");
    CHECK(ui.state().patching.token == 1);
    CHECK(ui.state().selection.block.layer.value == 1);
    CHECK_FALSE(ui.window().prompts().is_busy());
  }

  TEST_CASE("every experiment draws, and cancelled it stays as it is") {
    const Set set;
    UiDriver ui(of_captions(set), open_gpu_runner);
    ui.show("prompts");
    for (const char* experiment : {"2", "3", "4", "5"}) {
      CAPTURE(experiment);
      ui.click(std::string("prompts.experiment.") + experiment);
      ui.settle();
      check_tips(ui);
      const auto found = ui.window().prompts().findings();
      CHECK(found->error == "");
      CHECK(found->measured() == found->included());
      // No text repeats a token, so that none has a value of induction.
      const bool is_undefined = std::string_view(experiment) == "5";
      CHECK(ui.sees("prompts.no_value") == is_undefined);
      CHECK(ui.sees("prompts.cell.1.1") != is_undefined);
      CHECK((plain_text(ui.window().sentence()).find("n = ") != std::string::npos) != is_undefined);
    }
    ui.click("prompts.experiment.1");
    ui.settle();
    ui.click("patching.map.3");
    ui.settle();
    CHECK(ui.state().patching.map == PatchMap::Heads);
    CHECK(ui.sees("prompts.place"));
    check_tips(ui);
  }

  TEST_CASE("paths end in the strongest head of the set until another is chosen, and the strongest cell is a click away") {
    const Set set;
    UiDriver ui(of_captions(set), open_gpu_runner);
    ui.show("prompts");
    ui.click("prompts.experiment.2");
    ui.settle();
    check_tips(ui);
    const auto found = ui.window().prompts().findings();
    REQUIRE(found->receiver);
    CHECK(found->receiver->layer > 0);
    CHECK(found->search.empty());
    CHECK_FALSE(ui.state().patching.receiver.is_chosen());
    CHECK_FALSE(ui.sees("prompts.receiver.strongest"));
    CHECK(ui.window().describe().find("(the strongest over the set)") != std::string::npos);
    ui.click("prompts.strongest");
    const std::optional<std::size_t> strongest = strongest_cell(*found, 0);
    REQUIRE(strongest);
    CHECK(ui.state().selection.block.layer.value == *strongest / 8);
    CHECK(ui.state().selection.head == *strongest % 8);
    CHECK_FALSE(ui.sees("prompts.strongest"));
    ui.click("prompts.cell.3.1");
    ui.click("prompts.end");
    ui.settle();
    CHECK(ui.state().patching.receiver.layer == 3);
    CHECK_FALSE(ui.window().prompts().findings()->receiver);
    ui.click("prompts.receiver.strongest");
    ui.settle();
    CHECK(ui.window().prompts().findings() == found);
  }

  TEST_CASE(
      "without a set one is measured at once, of a set that isn't there and beside a network without logits one sentence "
      "says what to do") {
    const Set set;
    State state = of_captions(set);
    state.set(kPromptsView.set, {});
    {  // A model as small as this one measures a set that comes along, at once and without a change of the state.
      UiDriver ui(state, open_gpu_runner);
      ui.show("prompts");
      ui.settle();
      CHECK_FALSE(ui.sees("prompts.empty"));
      const auto found = ui.window().prompts().findings();
      REQUIRE(found);
      CHECK(found->set->name == "induction");
      CHECK(found->measured() == found->prompts());
      CHECK(ui.sees("prompts.cell.3.7"));
      CHECK(ui.state()[kPromptsView.set].empty());
      std::string words = text_on_screen();
      std::erase(words, ' ');  // which large type has between letters too
      CHECK(words.find("Induction:repeated") != std::string::npos);
    }
    CHECK(shown_prompt_set("", 124'000'000).empty());  // a larger one waits for the button
    CHECK(shown_prompt_set("ioi", 124'000'000) == "ioi");
    state.set(kPromptsView.set, "none-such");
    {
      UiDriver ui(state, open_gpu_runner);
      ui.show("prompts");
      CHECK(ui.sees("prompts.error"));
      CHECK(plain_text(ui.window().sentence()).find("n = ") == std::string::npos);
    }
    UiDriver ui(with_text("a b c"), open_gpu_runner);
    ui.show("prompts");
    CHECK(ui.sees("view.unavailable"));
  }

  TEST_CASE("a file that was wrong is read again; of one prompt there is no deviation; the CSV has texts") {
    const Set set;
    const std::string file = (set.folder.path() / "set.jsonl").string();
    write_file_atomically(file, std::string_view("{\"text\": \"a dog\""));
    UiDriver ui(of_captions(set), open_gpu_runner);
    ui.show("prompts");
    CHECK(ui.sees("prompts.error"));
    CHECK(ui.window().prompts().findings()->problem().find("line 1: not JSON") != std::string::npos);
    write_file_atomically(file, std::string(kPrompts).substr(0, std::string(kPrompts).find('\n') + 1));
    ui.click("prompts.again");
    ui.settle();
    REQUIRE(ui.window().prompts().findings()->measured() == 1);
    CHECK(ui.window().prompts().findings()->problem() == "");
    ui.click("prompts.copy");
    const std::string csv = ImGui::GetClipboardText();
    CHECK(csv.starts_with(
        "layer,column,logit_change,deviation,count,left_out,lowest,lowest_prompt,highest,highest_prompt\n0,0,"));
    CHECK(csv.find(",,1,0,") != std::string::npos);
    CHECK(csv.find(",a dog runs in the,") != std::string::npos);
    CHECK(ui.window().describe().find("mean of 1 of 1 prompts, a head\u2019s output is 0.") != std::string::npos);
  }

  TEST_CASE("where no prompt could be measured, the reason is on screen") {
    const Set set;
    State state = of_captions(set);
    state.set(kPromptsView.experiment, PromptExperiment::Lens);
    state.set(kPredictionsView.lens, (set.folder.path() / "none.safetensors").string());
    UiDriver ui(state, open_gpu_runner);
    ui.show("prompts");
    CHECK(ui.sees("prompts.failed"));
    const auto found = ui.window().prompts().findings();
    CHECK(found->failed() == 2);
    CHECK(found->problem().find("none.safetensors") != std::string::npos);
  }
}

}  // namespace viewer_prompts_test
