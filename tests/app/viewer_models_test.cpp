// Models in the window: opening, looking, continuing, leaving.
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "app/engine/continuation.h"
#include "app/state/model_changes.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "engine/fake_runner.h"
#include "support/temporary_directory.h"

namespace viewer_models_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

TEST_SUITE("gpu") {
  TEST_CASE("a LoRA adapter is switched off, and compared with the model alone") {
    State state = with_text("the cat sat on the mat");
    state.view.tab = "predictions";
    UiDriver ui(state, open_gpu_runner);
    ui.window().open_model(std::string(HEADLIGHT_GOLDEN_DIR) + "/lora/llama");
    ui.settle();
    REQUIRE(ui.result().error == "");
    const auto logits = [&] {
      const PredictionPosition place = prediction_position(ui.state(), ui.result());
      const Prediction* found = ui.result().prediction({.batch = 0, .token = place.token, .layer = 2, .keeps_logits = true});
      REQUIRE(found);
      return found->candidates;
    };
    const std::vector<inference::Candidate> adapted = logits();
    ui.click("model.adapter");
    REQUIRE(ui.result().error == "");
    const std::vector<inference::Candidate> alone = logits();
    CHECK(alone != adapted);
    CHECK(model_changes(ui.state()) == "without the adapter");
    ui.press(Key::Z, kControl);
    CHECK(logits() == adapted);
    ui.click("model.compare_adapter");
    CHECK(ui.state().model().applies_adapter);
    CHECK(ui.state().compare.baseline->name == "without the adapter");
    CHECK(ui.result().baseline_error == "");
    CHECK(ui.sees("compare.difference"));
    // Another model has the switch in its first position, and none where it has no adapter.
    ui.click("model.adapter");
    show_golden_model(ui, "llama");
    CHECK(ui.state().model().applies_adapter);
    CHECK_FALSE(ui.sees("model.adapter"));
    CHECK(logits() == alone);
  }

  TEST_CASE("a folder dropped on the window opens as a model, and closing it brings the playground back") {
    UiDriver ui(with_text("the cat"));
    const State before = ui.state();
    ui.window().open_files({kGoldenModels + "gpt2"});
    ui.settle();
    CHECK(ui.result().error == "");
    REQUIRE(ui.result().model);
    CHECK(ui.result().shapes.size() == 2);
    CHECK(ui.state().masks[model::BlockKind::EncoderSelf].rule.causal);
    CHECK(ui.sees("chips.source.0.0"));
    CHECK(ui.sees("model.name"));
    CHECK(ui.window().undo().undo_label() == "Open model");
    ui.click("model.close");
    CHECK_FALSE(ui.result().model);
    CHECK(ui.state().masks == before.masks);
    ui.press(Key::Z, kControl);
    CHECK(ui.result().model);
  }

  TEST_CASE("a run with scores that aren't finite is said in a notice, which the next clean run takes back") {
    const auto log = std::make_shared<FakeLog>();
    UiDriver ui(with_text("the cat"), fake_factory(log));
    CHECK(ui.window().notice().text == "");
    log->odd_rows = 3;
    ui.fill_in("text.edit", "the cat sat");
    ui.settle();
    CHECK(ui.window().notice().text.starts_with("3 of 12 rows of attention have scores that aren't finite, the first in "));
    CHECK(ui.window().notice().is_warning);
    CHECK(ui.sees("notice.close"));
    log->odd_rows = 0;
    ui.fill_in("text.edit", "the cat sat down");
    ui.settle();
    CHECK(ui.window().notice().text == "");
    CHECK_FALSE(ui.sees("notice.close"));
  }

  TEST_CASE("a text dropped on the window is read by the model on screen") {
    const TemporaryDirectory directory;
    const std::string file = (directory.path() / "text.txt").string();
    std::ofstream(file) << "a dog\n";
    UiDriver ui;
    ui.window().open_files({kGoldenModels + "gpt2"});
    ui.settle();
    REQUIRE(ui.result().model);
    ui.click("text.to_ids");  // ids would hide the text
    ui.window().open_files({file});
    ui.settle();
    CHECK(ui.state().text() == "a dog");
    CHECK(model_path(ui.state().source) == kGoldenModels + "gpt2");
    CHECK(ui.state().model().ids.empty());
    CHECK(ui.result().error == "");
  }

  TEST_CASE("what is no model is refused in one line and changes nothing") {
    UiDriver ui;
    const State before = ui.state();
    for (const std::string& path : {std::string("/no/such/folder"), kGoldenModels + "gpt2/config.json"}) {
      ui.window().open_model(path);
      ui.settle();
      CHECK(ui.window().notice().is_warning);
      CHECK(ui.window().notice().text.size() > 10);
      CHECK(ui.state() == before);
    }
  }

  TEST_CASE("a model without a tokenizer says so; a text doesn't run, ids do") {
    State ids;
    {
      UiDriver ui(with_text("the cat"));
      ui.window().open_model(kGoldenModels + "bert-base-model");
      ui.settle();
      CHECK(ui.window().notice().is_warning);
      CHECK(ui.result().is_stale);
      CHECK(ui.result().error != "");
      ids = ui.state();
    }
    UiDriver other(ids);
    other.click("text.to_ids");
    other.fill_in("text.ids", "1, 2,3 x");
    CHECK(other.result().error == "");
    CHECK(other.result().input->source.length == 3);
    other.press(Key::Digit3);
    CHECK(other.sees("view.unavailable"));
  }

  TEST_CASE("the browser lists a folder's models, opens one and remembers it") {
    UiDriver ui(with_text("the cat"));
    ui.press(Key::O, kControl);
    CHECK(ui.window().model_browser().is_open());
    ui.type(kGoldenModels);  // its field has the keyboard
    ui.press(Key::Enter);
    CHECK(ui.sees("browser.model.0"));
    CHECK(ui.sees("browser.model.3"));
    CHECK(ui.window().model_browser().is_open());
    ui.click("browser.path");
    ui.press(Key::A, kControl);
    ui.type("/no/such/folder");
    ui.press(Key::Enter);
    CHECK(ui.sees("browser.trouble"));
    CHECK(ui.ui().is_typing());  // the path can be mended at once
    ui.type("!");
    ui.click("browser.open");
    CHECK(ui.sees("browser.trouble"));
    ui.press(Key::Escape);  // closes the dialog, not just the field
    CHECK_FALSE(ui.window().model_browser().is_open());
    ui.press(Key::O, kControl);
    ui.click("browser.model.4");  // behind those that come with the program
    CHECK_FALSE(ui.window().model_browser().is_open());
    CHECK(model_path(ui.state().source).starts_with(kGoldenModels));
    CHECK(ui.window().settings().recent_models == std::vector<std::string>{model_path(ui.state().source)});
  }

  TEST_CASE("a folder that holds one model is opened as that model, which the panel and the recent ones name") {
    const TemporaryDirectory directory;
    const std::string model = (directory.path() / "models" / "gpt2").string();
    std::filesystem::create_directories(directory.path() / "models");
    std::filesystem::copy(kGoldenModels + "gpt2", model);
    UiDriver ui(with_text("the cat"));
    ui.window().open_model((directory.path() / "models").string());
    ui.settle();
    CHECK(model_path(ui.state().source) == model);
    CHECK(ui.window().settings().recent_models == std::vector<std::string>{model});
    REQUIRE(ui.result().model);
    CHECK(ui.result().model->path.string() == model);
  }

  TEST_CASE("a model is found by keys alone, hidden folders are out of the way, and places are a click away") {
    const TemporaryDirectory directory;
    const std::filesystem::path folder = directory.path() / "models";
    for (const char* name : {"other", ".hidden"}) std::filesystem::create_directories(folder / name);
    std::filesystem::copy(kGoldenModels + "gpt2", folder / "gpt2");
    std::filesystem::remove(folder / "gpt2" / "reference.safetensors");
    UiDriver ui(with_text("the cat"));
    ui.press(Key::O, kControl);
    ui.type(folder.string());
    ui.click("browser.browse");
    CHECK(ui.sees("folder.1"));
    CHECK_FALSE(ui.sees("folder.2"));
    ui.click("folder.hidden");
    CHECK(ui.sees("folder.2"));
    ui.click("folder.hidden");
    ui.click("folder.typed");
    ui.type("oth");
    CHECK(ui.sees("folder.0"));
    CHECK_FALSE(ui.sees("folder.1"));
    ui.press(Key::Enter);
    CHECK_FALSE(ui.sees("folder.0"));  // it is empty
    ui.type("..");
    ui.press(Key::Enter);
    CHECK(ui.sees("folder.1"));
    ui.press(Key::Down);
    ui.press(Key::Enter);  // the second one
    CHECK_FALSE(ui.sees("folder.0"));
    CHECK(ui.sees("folder.place.Working folder"));
    ui.type(folder.string());
    ui.press(Key::Enter);
    ui.type("gpt");
    ui.press(Key::Enter);
    CHECK_FALSE(ui.window().model_browser().is_open());
    CHECK(model_path(ui.state().source) == (folder / "gpt2").string());
  }

  TEST_CASE("a model is found by going through folders") {
    const TemporaryDirectory directory;
    std::filesystem::create_directories(directory.path() / "models" / "other");
    std::filesystem::copy(kGoldenModels + "gpt2", directory.path() / "models" / "gpt2");
    std::filesystem::remove(directory.path() / "models" / "gpt2" / "reference.safetensors");
    UiDriver ui(with_text("the cat"));
    ui.press(Key::O, kControl);
    ui.type((directory.path() / "models" / "not there").string());  // its field has the keyboard
    ui.click("browser.browse");                                     // begins at the nearest folder that exists
    CHECK_FALSE(ui.sees("browser.path"));
    CHECK_FALSE(ui.sees("folder.file.0"));
    ui.click("folder.back");
    CHECK(ui.sees("browser.path"));
    ui.click("browser.browse");
    ui.click("folder.0");
    CHECK(ui.sees("folder.file.0"));  // the weights
    CHECK_FALSE(ui.sees("folder.file.1"));
    ui.click("folder.use");
    CHECK_FALSE(ui.window().model_browser().is_open());
    CHECK(model_path(ui.state().source) == (directory.path() / "models" / "gpt2").string());
    ui.press(Key::O, kControl);
    CHECK(ui.sees("browser.path"));  // not in the middle of going through folders
  }

  TEST_CASE("the field of Open model finds names of the list, and arrows choose from it") {
    UiDriver ui(with_text("the cat"));
    ui.press(Key::O, kControl);
    REQUIRE(ui.sees("browser.model.1"));
    ui.type("multi");
    CHECK_FALSE(ui.sees("browser.model.0"));
    CHECK(ui.sees("browser.model.1"));
    ui.press(Key::A, kControl);
    ui.type("captions-gpt2");
    ui.press(Key::Enter);
    CHECK_FALSE(ui.window().model_browser().is_open());
    CHECK(model_path(ui.state().source).ends_with("/captions-gpt2"));
    ui.press(Key::O, kControl);
    ui.press(Key::Down);
    ui.press(Key::Down);
    ui.press(Key::Enter);
    CHECK(model_path(ui.state().source).ends_with("/multi30k-de-en"));
    ui.press(Key::O, kControl);
    ui.type("no such name");
    CHECK_FALSE(ui.sees("browser.model.0"));
    ui.press(Key::Enter);
    CHECK(ui.sees("browser.trouble"));
    ui.press(Key::Escape);
  }

  TEST_CASE("a folder lists the checkpoints of the trainings in it") {
    const TemporaryDirectory directory;
    std::filesystem::create_directories(directory.path() / "my-run");
    std::filesystem::copy(kGoldenModels + "gpt2", directory.path() / "my-run" / "checkpoint-10");
    UiDriver ui(with_text("the cat"));
    ui.press(Key::O, kControl);
    ui.type(directory.path().string());
    ui.press(Key::Enter);
    REQUIRE(ui.window().model_browser().is_open());
    ui.type("checkpoint");  // in place of the folder
    ui.press(Key::Enter);
    CHECK_FALSE(ui.window().model_browser().is_open());
    CHECK(model_path(ui.state().source) == (directory.path() / "my-run" / "checkpoint-10").string());
  }

  TEST_CASE("a load can be given up in the window, and what was shown comes back") {
    const auto log = std::make_shared<FakeLog>();
    UiDriver ui(with_text("the cat"), fake_factory(log));
    const State before = ui.state();
    log->fails_to_load = true;
    ui.window().open_model(kGoldenModels + "gpt2");
    ui.settle();
    CHECK_FALSE(is_model(ui.state().source));
    CHECK(ui.state() == before);
    CHECK(ui.window().notice().text.find("16 GiB") != std::string::npos);
    CHECK(ui.result().error == "");
  }

  TEST_CASE("a first text that is too long for the model's positions can be stretched") {
    std::string text;
    for (int i = 0; i < 20; ++i) text += "the cat ";  // gpt2 has 32 positions
    State state;
    state.source = Model{.path = kGoldenModels + "gpt2"};
    state.text() = text;
    UiDriver ui(state);
    CHECK(ui.result().error.find("the model has positions for 32") != std::string::npos);
    REQUIRE(ui.sees("model.stretch"));
    ui.click("model.stretch");
    CHECK(ui.result().error == "");
    CHECK(ui.result().input->source.length >= 40);
  }

  TEST_CASE("what takes a text that is too long is offered beside its refusal; undo brings the refusal back") {
    UiDriver ui;
    show_golden_model(ui, "gpt2");
    std::string text;
    for (int i = 0; i < 20; ++i) text += "the cat ";
    CHECK_FALSE(ui.sees("text.stretch"));
    ui.fill_in("text.edit", text);
    CHECK(ui.result().error.find("the model has positions for 32") != std::string::npos);
    CHECK(ui.sees("stale.error"));
    REQUIRE(ui.sees("text.stretch"));
    check_tips(ui);
    ui.click("text.stretch");
    CHECK(ui.result().error == "");
    CHECK(ui.result().input->source.length >= 40);
    CHECK_FALSE(ui.sees("text.stretch"));
    CHECK(ui.window().undo().undo_label() == "Stretch positions");
    ui.press(Key::Z, kControl);
    CHECK(ui.sees("text.stretch"));
    ui.click("text.to_ids");
    ui.fill_in("text.ids", "999");  // refused, but not for its length
    CHECK(ui.sees("stale.error"));
    CHECK_FALSE(ui.sees("text.stretch"));
  }

  TEST_CASE("a load has a bar and a button that gives up; the window goes on meanwhile") {
    const auto log = std::make_shared<FakeLog>();
    UiDriver ui(with_text("the cat"), fake_factory(log));
    const State before = ui.state();
    log->is_load_held = true;
    ui.window().open_model(kGoldenModels + "gpt2");
    REQUIRE(ui.frames_until([&] { return ui.sees("loading.cancel"); }));
    CHECK(ui.rect("loading.bar").size.x > 0.0F);
    CHECK(ui.rect("loading.bar").size.x < 1600.0F);
    // The earlier model's contents stay whole: no name, text or panel of the model that isn't there yet.
    for (const char* name : {"head.map", "text.edit", "chip.text", "mask.causal"}) CHECK_MESSAGE(ui.sees(name), name);
    CHECK(text_on_screen(ui.rect("chip.model")).find("playground") != std::string::npos);
    CHECK(model_path(ui.state().source) == kGoldenModels + "gpt2");
    ui.ui().feed(shell::tap(Key::K));
    ui.ui().feed(shell::tap(Key::Digit3));
    ui.ui().feed(shell::TextInput{"typed"});
    REQUIRE(ui.frames_until([&] { return !ui.ui().has_pending_input(); }));
    CHECK(ui.state().gains.empty());
    CHECK(ui.sees("head.map"));
    CHECK_FALSE(ui.sees("view.unavailable"));
    const chart::Rect cancel = ui.rect("loading.cancel");
    ui.ui().feed(shell::click_at(cancel.center()));
    REQUIRE(ui.frames_until([&] { return !is_model(ui.state().source); }));
    log->is_load_held = false;
    ui.settle();
    CHECK(ui.state() == before);
    CHECK(ui.window().notice().text == "Loading was cancelled");
    CHECK_FALSE(ui.window().notice().is_warning);
    CHECK(ui.result().error == "");
  }

  TEST_CASE("Esc gives up a load, too, and the text box has the keyboard again") {
    const auto log = std::make_shared<FakeLog>();
    UiDriver ui(with_text("the cat"), fake_factory(log));
    const State before = ui.state();
    ui.click("text.edit");
    log->is_load_held = true;
    ui.window().open_model(kGoldenModels + "gpt2");
    REQUIRE(ui.frames_until([&] { return ui.sees("loading.cancel") && ui.window().load_progress(); }));
    CHECK_FALSE(ui.ui().is_typing());
    ui.ui().feed(shell::tap(Key::Escape));
    REQUIRE(ui.frames_until([&] { return !is_model(ui.state().source); }));
    log->is_load_held = false;
    ui.settle();
    CHECK(ui.state() == before);
    CHECK(ui.ui().is_typing());
  }

  TEST_CASE("a run that comes when its model was given up for a third one is shown whole until that one is there") {
    UiDriver ui(with_text("the cat sat on the mat and the dog sat on the cat"));
    show_golden_model(ui, "marian");
    REQUIRE(ui.state().selection.block.kind == model::BlockKind::Cross);  // which the other two don't have
    double now_s = 1000.0;
    const auto pause = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
    const auto frame = [&] { ui.window().frame({1600, 1000}, 1.0F, now_s += 0.05); };
    constexpr int kMaxFrames = 1000;
    ui.window().open_model(kGoldenModels + "gpt2");
    for (int i = 0; i < kMaxFrames && model_path(ui.state().source) != kGoldenModels + "gpt2"; ++i) {
      pause(2);
      frame();
    }
    ui.window().open_model(kGoldenModels + "bert");
    pause(1000);  // gpt2's run is there, and bert's folder has been read
    frame();
    CHECK(model_path(ui.state().source) == kGoldenModels + "bert");
    for (int i = 0; i < kMaxFrames && !ui.window().is_settled(); ++i) {
      CHECK(ui.window().notice().text == "");
      frame();
      pause(2);
    }
    CHECK(ui.window().is_settled());
    CHECK(ui.result().model->path == kGoldenModels + "bert");
  }
}

}  // namespace viewer_models_test
