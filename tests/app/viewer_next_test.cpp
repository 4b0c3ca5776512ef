// The tokens at the end of the text: what is expected there, and what masks, heads and a baseline do to it.
#include <doctest/doctest.h>

#include "app/engine/predictions.h"
#include "app/models/starter_view.h"
#include "app/ui_driver.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/size_text.h"

namespace viewer_next_test {

using namespace headlight;
using namespace headlight::app;

namespace {

const char* const kText = "A man in a red shirt rides a horse. A man in a red shirt rides a";

State of_captions() {
  State state;
  change_to_model(state, find_bundled_model("captions-gpt2")->string());
  state.text() = kText;
  return state;
}

std::string tip(UiDriver& ui, const std::string& name) { return ui.window().item_tips().find(name)->second; }

/// Returns the likeliest tokens after the last one, as the engine answers.
const std::vector<inference::Candidate>& answered(const UiDriver& ui) {
  const std::uint32_t last = ui.result().input->source.length - 1;
  const Prediction* known = ui.result().prediction({.token = last, .layer = 4, .keeps_logits = true});
  REQUIRE(known);
  return known->candidates;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("the likeliest tokens stand at the end of the text, and a click opens their view") {
    UiDriver ui(of_captions(), open_gpu_runner);
    for (std::size_t i = 0; i < 2; ++i) {  // as many as one line of the sidebar has room for
      const inference::Candidate& candidate = answered(ui)[i];
      const std::string text = tip(ui, fmt::format("next.{}", i));
      CHECK(text.find(candidate_label(ui.result(), candidate.id)) != std::string::npos);
      CHECK(text.find(percent_text(candidate.probability)) != std::string::npos);
      CHECK(text.find("before") == std::string::npos);
    }
    check_tips(ui);
    ui.click_cell(3, 1);
    ui.click("next.0");
    CHECK(ui.state().view.tab == "predictions");
    CHECK(prediction_position(ui.state(), ui.result()).token == ui.result().input->source.length - 1);
  }

  TEST_CASE("what a knocked-out head does to them is said at once, and nothing after an edit of the text") {
    UiDriver ui(of_captions(), open_gpu_runner);
    const inference::Candidate before = answered(ui).front();
    REQUIRE(before.probability > 0.9);
    ui.wait(2.0);
    ui.click("grid.encoder.0.5");
    ui.click("head.knock_out");
    REQUIRE(answered(ui).front().probability < 0.9);
    const std::string said = tip(ui, "next.0");
    CHECK(said.find("before a head's gain changed") != std::string::npos);
    if (answered(ui).front().id == before.id) CHECK(said.find(percent_text(before.probability)) != std::string::npos);
    ui.wait(2.0);
    ui.fill_in("text.edit", "A man in a red shirt rides a big");
    CHECK(tip(ui, "next.0").find("before") == std::string::npos);
  }

  TEST_CASE("with a baseline they are compared with it") {
    UiDriver ui(of_captions(), open_gpu_runner);
    const inference::Candidate before = answered(ui).front();
    ui.press(shell::Key::D, shell::kControl);
    ui.wait(2.0);
    ui.press(shell::Key::C);
    const std::string said = tip(ui, "next.0");
    CAPTURE(said);
    CHECK(said.find("in the baseline") != std::string::npos);
    if (answered(ui).front().id == before.id) CHECK(said.find(percent_text(before.probability)) != std::string::npos);
  }

  TEST_CASE("a network that predicts no tokens has none") {
    UiDriver ui(with_text("one two three"));
    CHECK_FALSE(ui.sees("next"));
  }
}

}  // namespace viewer_next_test
