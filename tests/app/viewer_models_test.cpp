// Models in the window: opening, looking, continuing, leaving.
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "app/engine/continuation.h"
#include "app/fake_runner.h"
#include "app/hand.h"
#include "support/temporary_directory.h"

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

namespace {

State with_text(const std::string& text) {
  State state;
  state.text = text;
  return state;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("a folder dropped on the window opens as a model, and closing it brings the playground back") {
    Hand hand(with_text("the cat"));
    const State before = hand.state();
    hand.window().open_files({kGoldenModels + "gpt2"});
    hand.settle();
    CHECK(hand.result().error == "");
    REQUIRE(hand.result().model);
    CHECK(hand.result().shapes.size() == 2);
    CHECK(hand.state().masks[model::BlockKind::EncoderSelf].rule.causal);
    CHECK(hand.sees("chips.source.0.0"));
    CHECK(hand.sees("model.name"));
    CHECK(hand.window().undo().undo_label() == "Open model");
    hand.click("model.close");
    CHECK_FALSE(hand.result().model);
    CHECK(hand.state().masks == before.masks);
    hand.press(Key::Z, kControl);
    CHECK(hand.result().model);
  }

  TEST_CASE("a text dropped on the window is read by the model on screen") {
    const TemporaryDirectory directory;
    const std::string file = (directory.path() / "text.txt").string();
    std::ofstream(file) << "a dog\n";
    Hand hand;
    hand.window().open_files({kGoldenModels + "gpt2"});
    hand.settle();
    REQUIRE(hand.result().model);
    hand.click("text.to_ids");  // ids would hide the text
    hand.window().open_files({file});
    hand.settle();
    CHECK(hand.state().text == "a dog");
    CHECK(hand.state().model.path == kGoldenModels + "gpt2");
    CHECK(hand.state().model.ids.empty());
    CHECK(hand.result().error == "");
  }

  TEST_CASE("what is no model is refused in one line and changes nothing") {
    Hand hand;
    const State before = hand.state();
    for (const std::string& path : {std::string("/no/such/folder"), kGoldenModels + "gpt2/config.json"}) {
      hand.window().open_model(path);
      hand.settle();
      CHECK(hand.window().notice().is_warning);
      CHECK(hand.window().notice().text.size() > 10);
      CHECK(hand.state() == before);
    }
  }

  TEST_CASE("a model without a tokenizer says so; a text doesn't run, ids do") {
    State ids;
    {
      Hand hand(with_text("the cat"));
      hand.window().open_model(kGoldenModels + "bert-base-model");
      hand.settle();
      CHECK(hand.window().notice().is_warning);
      CHECK(hand.result().is_stale);
      CHECK(hand.result().error != "");
      ids = hand.state();
    }
    Hand other(ids);
    other.click("text.to_ids");
    other.fill_in("text.ids", "1, 2,3 x");
    CHECK(other.result().error == "");
    CHECK(other.result().input->source.length == 3);
    other.press(Key::Digit3);
    CHECK(other.sees("prediction.none"));
  }

  TEST_CASE("the browser lists a folder's models, opens one and remembers it") {
    Hand hand(with_text("the cat"));
    hand.press(Key::O, kControl);
    CHECK(hand.window().model_browser().is_open());
    hand.type(kGoldenModels);  // its field has the keyboard
    hand.press(Key::Enter);
    CHECK(hand.sees("browser.model.0"));
    CHECK(hand.sees("browser.model.3"));
    CHECK(hand.window().model_browser().is_open());
    hand.click("browser.path");
    hand.press(Key::A, kControl);
    hand.type("/no/such/folder");
    hand.press(Key::Enter);
    CHECK(hand.sees("browser.trouble"));
    CHECK(hand.ui().is_typing());  // the path can be mended at once
    hand.type("!");
    hand.click("browser.open");
    CHECK(hand.sees("browser.trouble"));
    hand.press(Key::Escape);  // closes the dialog, not just the field
    CHECK_FALSE(hand.window().model_browser().is_open());
    hand.press(Key::O, kControl);
    hand.click("browser.model.4");  // behind those that come with the program
    CHECK_FALSE(hand.window().model_browser().is_open());
    CHECK(hand.state().model.path.starts_with(kGoldenModels));
    CHECK(hand.window().settings().recent_models == std::vector<std::string>{hand.state().model.path});
  }

  TEST_CASE("a model is found by going through folders") {
    const TemporaryDirectory directory;
    std::filesystem::create_directories(directory.path() / "models" / "other");
    std::filesystem::copy(kGoldenModels + "gpt2", directory.path() / "models" / "gpt2");
    std::filesystem::remove(directory.path() / "models" / "gpt2" / "reference.safetensors");
    Hand hand(with_text("the cat"));
    hand.press(Key::O, kControl);
    hand.type((directory.path() / "models" / "not there").string());  // its field has the keyboard
    hand.click("browser.browse");                                     // begins at the nearest folder that exists
    CHECK_FALSE(hand.sees("browser.path"));
    CHECK_FALSE(hand.sees("folder.file.0"));
    hand.click("folder.back");
    CHECK(hand.sees("browser.path"));
    hand.click("browser.browse");
    hand.click("folder.0");
    CHECK(hand.sees("folder.file.0"));  // the weights
    CHECK_FALSE(hand.sees("folder.file.1"));
    hand.click("folder.use");
    CHECK_FALSE(hand.window().model_browser().is_open());
    CHECK(hand.state().model.path == (directory.path() / "models" / "gpt2").string());
    hand.press(Key::O, kControl);
    CHECK(hand.sees("browser.path"));  // not in the middle of going through folders
  }

  TEST_CASE("a load can be given up in the window, and what was shown comes back") {
    const auto log = std::make_shared<FakeLog>();
    Hand hand(with_text("the cat"), fake_factory(log));
    const State before = hand.state();
    log->fails_to_load = true;
    hand.window().open_model(kGoldenModels + "gpt2");
    hand.settle();
    CHECK(hand.state().model.path.empty());
    CHECK(hand.state() == before);
    CHECK(hand.window().notice().text.find("16 GiB") != std::string::npos);
    CHECK(hand.result().error == "");
  }

  TEST_CASE("a load has a bar and a button that gives up; the window goes on meanwhile") {
    const auto log = std::make_shared<FakeLog>();
    Hand hand(with_text("the cat"), fake_factory(log));
    const State before = hand.state();
    log->is_load_held = true;
    hand.window().open_model(kGoldenModels + "gpt2");
    double now_s = 100.0;
    const auto frames_until = [&](const auto& is_there) {
      for (int patience = 0; patience < 4000 && !is_there(); ++patience) {
        hand.window().frame({.width = 1600, .height = 1000}, 1.0F, now_s += 0.01);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return is_there();
    };
    REQUIRE(frames_until([&] { return hand.sees("loading.cancel"); }));
    CHECK(hand.rect("loading.bar").width > 0.0F);
    CHECK(hand.rect("loading.bar").width < 1600.0F);
    // What was shown before stays whole: no name, text or panel of the model that isn't there yet.
    for (const char* name : {"head.map", "model.heads", "chips.query.0.1", "text.cross"})
      CHECK_MESSAGE(hand.sees(name), name);
    CHECK_FALSE(hand.sees("model.name"));
    CHECK(hand.state().model.path == kGoldenModels + "gpt2");
    hand.ui().feed(shell::tap(Key::K));
    hand.ui().feed(shell::tap(Key::Digit3));
    hand.ui().feed(shell::TextInput{"typed"});
    REQUIRE(frames_until([&] { return !hand.ui().has_pending_input(); }));
    CHECK(hand.state().gains.empty());
    CHECK(hand.sees("head.map"));
    CHECK_FALSE(hand.sees("prediction.none"));
    const shell::UiRect cancel = hand.rect("loading.cancel");
    hand.ui().feed(shell::click_at(cancel.x + cancel.width * 0.5F, cancel.y + cancel.height * 0.5F));
    REQUIRE(frames_until([&] { return hand.state().model.path.empty(); }));
    log->is_load_held = false;
    hand.settle();
    CHECK(hand.state() == before);
    CHECK(hand.window().notice().text == "Loading was cancelled");
    CHECK_FALSE(hand.window().notice().is_warning);
    CHECK(hand.result().error == "");
  }

  TEST_CASE("Esc gives up a load, too, and the text box has the keyboard again") {
    const auto log = std::make_shared<FakeLog>();
    Hand hand(with_text("the cat"), fake_factory(log));
    const State before = hand.state();
    hand.click("text.edit");
    log->is_load_held = true;
    hand.window().open_model(kGoldenModels + "gpt2");
    double now_s = 100.0;
    const auto frames_until = [&](const auto& is_there) {
      for (int patience = 0; patience < 4000 && !is_there(); ++patience) {
        hand.window().frame({.width = 1600, .height = 1000}, 1.0F, now_s += 0.01);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return is_there();
    };
    REQUIRE(frames_until([&] { return hand.sees("loading.cancel") && hand.window().load_progress(); }));
    CHECK_FALSE(hand.ui().is_typing());
    hand.ui().feed(shell::tap(Key::Escape));
    REQUIRE(frames_until([&] { return hand.state().model.path.empty(); }));
    log->is_load_held = false;
    hand.settle();
    CHECK(hand.state() == before);
    CHECK(hand.ui().is_typing());
  }

  TEST_CASE("predictions are bars that add to the text when they are clicked") {
    Hand hand(with_text("the cat"));
    show_golden_model(hand, "gpt2");
    hand.click("tab.predictions");
    CHECK(hand.sees("prediction.0"));
    CHECK(hand.sees("lens.0"));
    CHECK(hand.sees("lens.2"));
    const PredictionPlace place = prediction_place(hand.state(), hand.result());
    const Prediction* prediction =
        hand.result().prediction({.batch = 0, .token = place.token, .layer = 2, .keeps_logits = true});
    REQUIRE(prediction);
    // The lens' last row is the model's own prediction: the reference's logits, softmax by hand.
    double sum = 0.0;
    for (const inference::Candidate& candidate : prediction->candidates) sum += candidate.probability;
    CHECK(sum <= 1.0 + 1e-9);
    CHECK(prediction->candidates[0].probability >= prediction->candidates[1].probability);
    State expected = hand.state();
    std::size_t row = 0;
    while (!put_token(expected, hand.result(), place, prediction->candidates[row].id)) ++row;
    hand.click("prediction." + std::to_string(row));
    CHECK(hand.state().text == expected.text);
    CHECK(hand.window().undo().undo_label() == "Edit text");
    hand.press(Key::Z, kControl);
    CHECK(hand.state().text == "the cat");
    hand.click("prediction.previous");
    CHECK(hand.state().view.pinned->query == place.token - 1);
    hand.click("prediction.automatic");
    CHECK_FALSE(hand.state().view.pinned);
  }

  TEST_CASE("a continuation is one step to undo") {
    State state = with_text("the cat");
    state.generation.tokens = 4;
    state.view.tab = Tab::Predictions;
    Hand hand(state);
    show_golden_model(hand, "gpt2");
    const std::size_t steps = hand.window().undo().step_count();
    hand.click("generate.start");
    CHECK_FALSE(hand.window().generation().is_running());
    CHECK(hand.window().generation().count() > 0);
    CHECK(hand.sees("generate.remark"));
    if (hand.state().text != "the cat") {
      CHECK(hand.window().undo().step_count() == steps + 1);
      hand.press(Key::Z, kControl);
    }
    CHECK(hand.state().text == "the cat");
    CHECK(hand.state().model.path == kGoldenModels + "gpt2");
  }

  TEST_CASE("a masked model offers a mask and fills it") {
    State state = with_text("a b");
    state.view.tab = Tab::Predictions;
    Hand hand(state);
    show_golden_model(hand, "bert");
    CHECK_FALSE(hand.sees("generate.start"));
    REQUIRE(hand.sees("prediction.mask"));
    hand.click("prediction.mask");
    CHECK(hand.state().text == "[MASK] b");
    CHECK(prediction_place(hand.state(), hand.result()).kind == PredictionPlace::Kind::Masked);
    CHECK_FALSE(hand.sees("prediction.mask"));
  }

  TEST_CASE("second sentences and special tokens change the tokens") {
    Hand hand(with_text("a b"));
    show_golden_model(hand, "bert");
    const std::uint32_t alone = hand.result().input->source.length;
    hand.fill_in("text.pair", "b a");
    CHECK(hand.result().input->source.length > alone);
    CHECK(hand.result().input->source.types.back() == 1);
    hand.fill_in("text.pair", "");
    hand.click("text.special");
    CHECK(hand.result().input->source.length == alone - 2);
    CHECK(hand.window().undo().undo_label() == "Switch special tokens");
  }

  TEST_CASE("a token under the pointer marks its characters, characters their token") {
    Hand hand(with_text("a b"));
    show_golden_model(hand, "bert");
    hand.move_to("chips.source.0.1");  // behind [CLS]
    CHECK(hand.sees("text.edit.mark.0-1"));
    hand.move_to("chips.source.0.0");  // [CLS] has none
    CHECK_FALSE(hand.sees("text.edit.mark.0-1"));
    const shell::UiRect box = hand.rect("text.edit");
    hand.ui().feed({shell::MouseMove{(box.x + 11.0F) * hand.ui().scale(), (box.y + 14.0F) * hand.ui().scale()}});
    hand.settle();
    CHECK(hand.window().pointed_query() == 1U);
  }

  TEST_CASE("encoder–decoders have a target and three kinds of attention") {
    Hand hand(with_text("a b"));
    show_golden_model(hand, "marian");
    CHECK(hand.sees("text.target"));
    hand.fill_in("text.target", "b");
    CHECK(hand.result().input->target->length > 1);
    for (const char* kind : {"grid.kind.0", "grid.kind.1", "grid.kind.2"}) {
      hand.click(kind);
      CHECK(hand.result().shapes.contains(hand.state().selection.block));
    }
    CHECK(hand.state().selection.block.kind == model::BlockKind::Cross);
    hand.press(Key::Digit3);
    CHECK(hand.sees("prediction.0"));
  }

  TEST_CASE("a head is knocked out, marked, and brought back") {
    const auto log = std::make_shared<FakeLog>();
    Hand hand(with_text("the cat"), fake_factory(log));
    show_golden_model(hand, "gpt2");
    hand.click("head.knock_out");
    CHECK(head_gain(hand.state(), hand.state().selection.block, hand.state().selection.head) == 0.0F);
    CHECK(log->gains == 1);
    CHECK(hand.window().undo().undo_label() == "Change head gain");
    hand.press(Key::K);
    CHECK(hand.state().gains.empty());
    CHECK(log->gains == 0);
    hand.press(Key::Z, kControl);
    CHECK(hand.state().gains.size() == 1);
  }

  TEST_CASE("padding on the left is padding everywhere") {
    State state = with_text("a b a b\nb");
    state.view.tab = Tab::Predictions;
    Hand hand(state);
    show_golden_model(hand, "gpt2");
    hand.click("model.padding.1");
    REQUIRE(hand.state().model.padding == inference::PaddingSide::Left);
    hand.press(Key::PageDown);
    CHECK(hand.result().error == "");
    const model::TokenBatch& tokens = hand.result().input->source;
    REQUIRE(tokens.starts.size() == 2);
    CHECK(tokens.starts[1] > 0);
    const PredictionPlace place = prediction_place(hand.state(), hand.result());
    CHECK(place.batch == 1);
    CHECK(place.first == tokens.starts[1]);
    CHECK(place.token == tokens.length - 1);
    CHECK(hand.sees("prediction.0"));
  }

  TEST_CASE("on the device: a continuation, a knocked-out head, half precision, and back") {
    State state = with_text("the cat");
    state.generation.tokens = 3;
    state.view.tab = Tab::Predictions;
    Hand hand(state, open_gpu_runner);
    show_golden_model(hand, "gpt2");
    REQUIRE(hand.result().error == "");
    const auto best = [&] {
      const PredictionPlace place = prediction_place(hand.state(), hand.result());
      const Prediction* prediction =
          hand.result().prediction({.batch = 0, .token = place.token, .layer = 2, .keeps_logits = true});
      REQUIRE(prediction);
      return prediction->candidates.front();
    };
    const inference::Candidate whole = best();
    hand.press(Key::K);
    CHECK(best().logit != whole.logit);
    hand.press(Key::K);
    CHECK(best().logit == doctest::Approx(whole.logit).epsilon(1e-5));
    hand.click("model.precision.1");
    CHECK(hand.result().error == "");
    CHECK(best().logit == doctest::Approx(whole.logit).epsilon(0.02));  // 1.4e-4 measured
    hand.click("generate.start");
    CHECK(hand.window().generation().count() > 0);
    CHECK(hand.result().error == "");
    hand.click("model.close");
    CHECK(hand.result().error == "");
    CHECK_FALSE(hand.result().model);
  }
}
