// The Logits tab, in the whole window.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "app/engine/analyses/logit_attribution.h"
#include "app/engine/gpu_runner.h"
#include "app/models/starter_view.h"
#include "app/state/logits_settings.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "app/widgets/table_view.h"
#include "core/error.h"

namespace viewer_logits_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

namespace {

/// What the newest analysis of this kind found about the run on screen.
template <typename Found>
const Found& found_by(const UiDriver& ui) {
  for (const auto& [query, answer] : ui.result().analyses) {
    const auto* found = answer.template as<Found>();
    if (found && answer.run == ui.result().run) return *found;
  }
  throw Error("nothing was found");
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("parts, heads and source tokens; a click on a head shows what it brings, and undo goes back") {
    UiDriver ui(with_text("the cat sat on the mat", "logits"));
    show_golden_model(ui, "gpt2");
    for (const char* name : {"logits.sum", "logits.part.0", "logits.head.1.2", "logits.source.0", "logits.copy"}) {
      CAPTURE(name);
      CHECK(ui.sees(name));
    }
    ui.wait(2.0);
    ui.click("logits.head.1.2");
    CHECK(ui.state().selection.block.layer.value == 1);
    CHECK(ui.state().selection.head == 2);
    CHECK_FALSE(ui.state()[kLogitsView.sums_heads]);
    CHECK(ui.sees("logits.source.0"));
    ui.wait(2.0);
    ui.click("logits.sums_heads.0");
    CHECK(ui.state()[kLogitsView.sums_heads]);
    ui.wait(2.0);
    ui.press(shell::Key::Left, shell::kAlt);
    CHECK_FALSE(ui.state()[kLogitsView.sums_heads]);
    ui.wait(2.0);
    ui.click("logits.part.1");
    CHECK(ui.state().selection.block.layer.value == 0);
    ui.click("logits.source.1");
    REQUIRE(ui.state().view.pinned);
    CHECK(ui.state().view.pinned->key == 1);
    ui.click("logits.previous");
    CHECK(ui.sees("logits.sum"));
    ui.click("logits.automatic");
    CHECK_FALSE(ui.state().view.pinned);
  }

  TEST_CASE("what the heads lack to the components of attention is written") {
    UiDriver ui(with_text("the cat sat on the mat", "logits"));
    show_golden_model(ui, "gpt2");
    const LogitAttribution parts = found_by<LogitAttribution>(ui);
    double heads = 0.0, attention = 0.0;
    for (const auto& layer : parts.layers) {
      const double sum = std::accumulate(layer.heads.begin(), layer.heads.end(), 0.0);
      heads += sum;
      attention += sum + layer.attention_bias;
    }
    REQUIRE(ui.sees("logits.biases"));
    ui.draw_every_frame();
    ui.settle();
    const std::string note = text_on_screen(ui.rect("logits.biases"));
    for (const double number : {heads, attention - heads, attention}) {
      CAPTURE(note);
      CHECK(note.find(signed_text(number)) != std::string::npos);
    }
  }

  TEST_CASE("source tokens that scroll come by size, and a click pins the token of its row") {
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    for (int i = 0; i < 4; ++i) state.text() += "the cat sat on the red mat ";
    state.view.tab = "logits";
    UiDriver ui(state, open_gpu_runner);
    ui.settle();
    const std::vector<double> tokens = found_by<LogitSources>(ui).tokens;
    std::vector<std::size_t> order(tokens.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t token) { return std::abs(tokens[token]); });
    REQUIRE(order[1] != 1);
    ui.click("logits.source.1");
    REQUIRE(ui.state().view.pinned);
    CHECK(ui.state().view.pinned->key == order[1]);
  }

  TEST_CASE("a second token is chosen from the likeliest, and given up again") {
    UiDriver ui(with_text("the cat sat on the mat", "logits"));
    show_golden_model(ui, "llama");
    ui.click("logits.other");
    ui.click("logits.other.3");
    REQUIRE(ui.state()[kLogitsView.other]);
    CHECK(ui.window().undo().undo_label() == "Choose second token");
    CHECK(ui.sees("logits.sum"));
    ui.click("logits.token");
    ui.click("logits.token.2");
    CHECK(ui.state()[kLogitsView.token]);
    ui.click("logits.other");
    ui.click("logits.other.none");
    CHECK_FALSE(ui.state()[kLogitsView.other]);
    CHECK(ui.sees("logits.part.0"));
  }

  TEST_CASE("models whose logits have no parts say so, also in a small window") {
    UiDriver ui(with_text("the cat", "logits"));
    CHECK(ui.sees("view.unavailable"));  // the playground predicts nothing
    for (const char* model : {"bert", "marian"}) {
      show_golden_model(ui, model);
      CHECK(ui.sees("view.unavailable"));
    }
    show_golden_model(ui, "gpt2");
    ui.resize(1024, 640);
    CHECK(ui.sees("logits.sum"));
    CHECK(ui.sees("logits.head.0.0"));
  }
}

}  // namespace viewer_logits_test
