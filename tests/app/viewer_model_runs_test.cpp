// Computations of a model on screen: predictions, continuations, tokens of texts, knocked-out heads, padding,
// precision.
#include <doctest/doctest.h>

#include <string>

#include "app/engine/continuation.h"
#include "app/ui_driver.h"
#include "engine/fake_runner.h"

namespace viewer_model_runs_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

TEST_SUITE("gpu") {
  TEST_CASE("predictions are bars that add to the text when they are clicked") {
    UiDriver ui(with_text("the cat"));
    show_golden_model(ui, "gpt2");
    ui.click("tab.predictions");
    CHECK(ui.sees("prediction.0"));
    CHECK(ui.sees("lens.0"));
    CHECK(ui.sees("lens.2"));
    const PredictionPosition place = prediction_position(ui.state(), ui.result());
    const Prediction* prediction =
        ui.result().prediction({.batch = 0, .token = place.token, .layer = 2, .keeps_logits = true});
    REQUIRE(prediction);
    // The lens' last row is the model's own prediction: the reference's logits, softmax by hand.
    double sum = 0.0;
    for (const inference::Candidate& candidate : prediction->candidates) sum += candidate.probability;
    CHECK(sum <= 1.0 + 1e-9);
    CHECK(prediction->candidates[0].probability >= prediction->candidates[1].probability);
    State expected = ui.state();
    std::size_t row = 0;
    while (!put_token(expected, ui.result(), place, prediction->candidates[row].id)) ++row;
    ui.click("prediction." + std::to_string(row));
    CHECK(ui.state().text() == expected.text());
    CHECK(ui.window().undo().undo_label() == "Edit text");
    ui.press(Key::Z, kControl);
    CHECK(ui.state().text() == "the cat");
    ui.click("prediction.previous");
    CHECK(ui.state().view.pinned->query == place.token - 1);
    ui.click("prediction.automatic");
    CHECK_FALSE(ui.state().view.pinned);
  }

  TEST_CASE("a continuation is one step to undo") {
    State state = with_text("the cat");
    state.generation.tokens = 4;
    state.view.tab = "predictions";
    UiDriver ui(state);
    show_golden_model(ui, "gpt2");
    const std::size_t steps = ui.window().undo().step_count();
    ui.click("generate.start");
    CHECK_FALSE(ui.window().generation().is_running());
    CHECK(ui.window().generation().count() > 0);
    CHECK(ui.sees("generate.remark"));
    if (ui.state().text() != "the cat") {
      CHECK(ui.window().undo().step_count() == steps + 1);
      ui.press(Key::Z, kControl);
    }
    CHECK(ui.state().text() == "the cat");
    CHECK(model_path(ui.state().source) == kGoldenModels + "gpt2");
  }

  TEST_CASE("a masked model offers a mask and fills it") {
    State state = with_text("a b");
    state.view.tab = "predictions";
    UiDriver ui(state);
    show_golden_model(ui, "bert");
    CHECK_FALSE(ui.sees("generate.start"));
    REQUIRE(ui.sees("prediction.mask"));
    ui.click("prediction.mask");
    CHECK(ui.state().text() == "[MASK] b");
    CHECK(prediction_position(ui.state(), ui.result()).kind == PredictionPosition::Kind::Masked);
    CHECK_FALSE(ui.sees("prediction.mask"));
  }

  TEST_CASE("second sentences and special tokens change the tokens") {
    UiDriver ui(with_text("a b"));
    show_golden_model(ui, "bert");
    const std::uint32_t alone = ui.result().input->source.length;
    ui.fill_in("text.pair", "b a");
    CHECK(ui.result().input->source.length > alone);
    CHECK(ui.result().input->source.types.back() == 1);
    ui.fill_in("text.pair", "");
    ui.click("text.special");
    CHECK(ui.result().input->source.length == alone - 2);
    CHECK(ui.window().undo().undo_label() == "Switch special tokens");
  }

  TEST_CASE("a token under the pointer marks its characters, characters their token") {
    UiDriver ui(with_text("a b"));
    show_golden_model(ui, "bert");
    ui.move_to("chips.source.0.1");  // behind [CLS]
    CHECK(ui.sees("text.edit.mark.0-1"));
    ui.move_to("chips.source.0.0");  // [CLS] has none
    CHECK_FALSE(ui.sees("text.edit.mark.0-1"));
    const chart::Rect box = ui.rect("text.edit");
    ui.ui().feed({shell::MouseMove{{(box.origin.x + 11.0F) * ui.ui().scale(), (box.origin.y + 14.0F) * ui.ui().scale()}}});
    ui.settle();
    CHECK(ui.window().pointed_query() == 1U);
  }

  TEST_CASE("encoder–decoders have a target and three kinds of attention") {
    UiDriver ui(with_text("a b"));
    show_golden_model(ui, "marian");
    CHECK(ui.sees("text.target"));
    ui.fill_in("text.target", "b");
    CHECK(ui.result().input->target->length > 1);
    for (const char* kind : {"grid.kind.0", "grid.kind.1", "grid.kind.2"}) {
      ui.click(kind);
      CHECK(ui.result().shapes.contains(ui.state().selection.block));
    }
    CHECK(ui.state().selection.block.kind == model::BlockKind::Cross);
    ui.press(Key::Digit3);
    CHECK(ui.sees("prediction.0"));
  }

  TEST_CASE("a head is knocked out, marked, and brought back") {
    const auto log = std::make_shared<FakeLog>();
    UiDriver ui(with_text("the cat"), fake_factory(log));
    show_golden_model(ui, "gpt2");
    ui.click("head.knock_out");
    CHECK(head_gain(ui.state(), ui.state().selection.block, ui.state().selection.head) == 0.0F);
    CHECK(log->gains == 1);
    CHECK(ui.window().undo().undo_label() == "Change head gain");
    ui.press(Key::K);
    CHECK(ui.state().gains.empty());
    CHECK(log->gains == 0);
    ui.press(Key::Z, kControl);
    CHECK(ui.state().gains.size() == 1);
  }

  TEST_CASE("padding on the left is padding everywhere") {
    State state = with_text("a b a b\nb");
    state.view.tab = "predictions";
    UiDriver ui(state);
    show_golden_model(ui, "gpt2");
    ui.click("model.padding.1");
    REQUIRE(ui.state().model().padding == inference::PaddingSide::Left);
    ui.press(Key::PageDown);
    CHECK(ui.result().error == "");
    const model::TokenBatch& tokens = ui.result().input->source;
    REQUIRE(tokens.starts.size() == 2);
    CHECK(tokens.starts[1] > 0);
    const PredictionPosition place = prediction_position(ui.state(), ui.result());
    CHECK(place.batch == 1);
    CHECK(place.first == tokens.starts[1]);
    CHECK(place.token == tokens.length - 1);
    CHECK(ui.sees("prediction.0"));
  }

  TEST_CASE("on the device: a continuation, a knocked-out head, half precision, and back") {
    State state = with_text("the cat");
    state.generation.tokens = 3;
    state.view.tab = "predictions";
    UiDriver ui(state, open_gpu_runner);
    show_golden_model(ui, "gpt2");
    REQUIRE(ui.result().error == "");
    const auto best = [&] {
      const PredictionPosition place = prediction_position(ui.state(), ui.result());
      const Prediction* prediction =
          ui.result().prediction({.batch = 0, .token = place.token, .layer = 2, .keeps_logits = true});
      REQUIRE(prediction);
      return prediction->candidates.front();
    };
    const inference::Candidate whole = best();
    ui.press(Key::K);
    CHECK(best().logit != whole.logit);
    ui.press(Key::K);
    CHECK(best().logit == doctest::Approx(whole.logit).epsilon(1e-5));
    ui.click("model.details");
    ui.click("model.precision.1");
    CHECK(ui.result().error == "");
    CHECK(best().logit == doctest::Approx(whole.logit).epsilon(0.02));  // 1.4e-4 measured
    ui.click("generate.start");
    CHECK(ui.window().generation().count() > 0);
    CHECK(ui.result().error == "");
    ui.click("model.close");
    CHECK(ui.result().error == "");
    CHECK_FALSE(ui.result().model);
  }
}

}  // namespace viewer_model_runs_test
