// The Predictions tab and an encoder–decoder's alignment, in the whole window.
#include <doctest/doctest.h>

#include <cmath>

#include "app/engine/head_mean.h"
#include "app/fake_runner.h"
#include "app/hand.h"
#include "app/widgets/row_names.h"

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

namespace {

State predictions_of(const std::string& text) {
  State state;
  state.text = text;
  state.view.tab = Tab::Predictions;
  return state;
}

/// The names of the rows on screen.
std::optional<std::vector<std::string>> names_of_rows(Hand& hand, State state) {
  Transient transient;
  std::vector<attention::TileRequest> wishes;
  Frame frame{.ui = hand.ui(), .state = state, .transient = transient, .result = hand.result(), .wishes = wishes};
  return written_tokens(frame, state.selection.block.kind);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("a change of mask or text is drawn as outlines and says what changed most; choosing a token ends them") {
    Hand hand(predictions_of("the cat sat on the mat"));
    show_golden_model(hand, "gpt2");
    CHECK(hand.sees("prediction.0"));
    CHECK_FALSE(hand.sees("prediction.change"));
    // The axis doesn't follow the bars: 100 % is as wide after the change.
    const float axis = hand.rect("prediction.0.axis").width;
    hand.wait(5.0);
    hand.click("mask.causal");
    REQUIRE_FALSE(hand.state().masks[model::BlockKind::EncoderSelf].rule.causal);
    CHECK(hand.sees("prediction.change"));
    CHECK(hand.rect("prediction.0.axis").width > axis * 0.6F);
    hand.click("prediction.previous");
    CHECK_FALSE(hand.sees("prediction.change"));
    hand.click("prediction.automatic");
    CHECK_FALSE(hand.sees("prediction.change"));
    hand.wait(5.0);
    hand.press(Key::Z, kControl);
    hand.press(Key::Z, kControl);
    hand.press(Key::Z, kControl);
    CHECK(hand.state().masks[model::BlockKind::EncoderSelf].rule.causal);
    CHECK(hand.sees("prediction.change"));
  }

  TEST_CASE("the selected head is chosen and knocked out beside its predictions") {
    const auto log = std::make_shared<FakeLog>();
    Hand hand(predictions_of("the cat"), fake_factory(log));
    show_golden_model(hand, "gpt2");
    const std::uint32_t head = hand.state().selection.head;
    hand.click(head == 0 ? "control.head.next" : "control.head.previous");
    CHECK(hand.state().selection.head != head);
    const std::uint32_t layer = hand.state().selection.block.layer.value;
    hand.click(layer == 0 ? "control.layer.next" : "control.layer.previous");
    CHECK(hand.state().selection.block.layer.value != layer);
    hand.wait(5.0);
    hand.click("head.knock_out");
    CHECK(head_gain(hand.state(), hand.state().selection.block, hand.state().selection.head) == 0.0F);
    CHECK(log->gains == 1);
    CHECK(hand.sees("prediction.change"));
    CHECK(hand.sees("lens.title"));
  }

  TEST_CASE("the rows of an encoder–decoder are named by what it writes there, or by what it reads") {
    State state;
    state.text = "a b a";
    Hand hand(state);
    show_golden_model(hand, "marian");
    State shown = hand.state();
    shown.selection.block.kind = model::BlockKind::Cross;
    const model::TokenBatch& target = *hand.result().input->target;
    const std::optional<std::vector<std::string>> written = names_of_rows(hand, shown);
    REQUIRE(written);
    REQUIRE(written->size() == target.texts[0].size());
    for (std::size_t row = 0; row + 1 < target.lengths[0]; ++row) CHECK((*written)[row] == target.texts[0][row + 1]);
    shown.view.row_names = RowNames::Read;
    CHECK_FALSE(names_of_rows(hand, shown));
    shown.view.row_names = RowNames::Written;
    shown.selection.block.kind = model::BlockKind::EncoderSelf;
    CHECK_FALSE(names_of_rows(hand, shown));  // its rows are the source
    hand.click("grid.kind.2");
    // The last row is what the model expects there most, which the map asks for.
    const std::uint32_t last = target.lengths[0] - 1;
    const Prediction* next = hand.result().prediction(
        {.batch = 0, .token = last, .layer = predicting_layers(*hand.result().network), .keeps_logits = true});
    REQUIRE(next);
    hand.click("head.rows.1");
    CHECK(hand.state().view.row_names == RowNames::Read);
    hand.press(Key::Z, kControl);
    CHECK(hand.state().view.row_names == RowNames::Written);
  }

  TEST_CASE("the alignment is the mean of all cross-attention heads, and the menu leads there") {
    State state;
    state.text = "a b a";
    Hand hand(state);
    hand.click("menu.View");
    hand.click("menu.Alignment");  // nothing has cross-attention: nothing happens
    CHECK(hand.state().selection.mean == HeadMean::None);
    hand.press(Key::Escape);
    show_golden_model(hand, "marian");
    hand.click("menu.View");
    hand.click("menu.Alignment");
    CHECK(hand.state().selection.mean == HeadMean::Kind);
    CHECK(hand.state().selection.block.kind == model::BlockKind::Cross);
    const inference::BlockShape& shape = hand.result().shapes.at(hand.state().selection.block);
    const attention::TileRequest wanted{
        .block = {.kind = model::BlockKind::Cross}, .head = kMeanOfKind, .rows = shape.queries, .columns = shape.keys};
    REQUIRE(hand.result().is_current(wanted));
    const attention::Tile& mean = *hand.result().tile(wanted);
    double sum = 0.0;
    for (std::uint32_t key = 0; key < shape.keys; ++key) sum += double{mean.at(0, key)};
    CHECK(sum == doctest::Approx(1.0).epsilon(1e-5));
    hand.move_to("head.map");
    hand.press(Key::Right);
    CHECK(hand.state().selection.mean == HeadMean::None);
    hand.click("head.mean");
    hand.click("head.mean.layer");
    CHECK(hand.state().selection.mean == HeadMean::Layer);
  }

  TEST_CASE("on the device: a knocked-out head changes the bars and is compared with the run before") {
    Hand hand(predictions_of("the cat"), open_gpu_runner);
    show_golden_model(hand, "gpt2");
    REQUIRE(hand.result().error == "");
    hand.wait(5.0);
    hand.click("head.knock_out");
    CHECK(hand.sees("prediction.change"));
    const PredictionPlace place = prediction_place(hand.state(), hand.result());
    const Prediction* prediction =
        hand.result().prediction({.batch = 0, .token = place.token, .layer = 2, .keeps_logits = true});
    REQUIRE(prediction);
    REQUIRE(prediction->logits);
    // The bars' softmax is over the whole vocabulary.
    double sum = 0.0;
    for (const float logit : *prediction->logits) sum += std::exp(double{logit});
    const inference::Candidate& best = prediction->candidates.front();
    const inference::Distribution now = inference::distribution(*prediction->logits, {});
    CHECK(now.chances[best.id] == doctest::Approx(std::exp(double{best.logit}) / sum).epsilon(1e-6));
  }
}
