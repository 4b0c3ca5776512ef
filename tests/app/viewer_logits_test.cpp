// The Logits tab, in the whole window.
#include <doctest/doctest.h>

#include "app/state/logits_settings.h"
#include "app/ui_driver.h"

namespace viewer_logits_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

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
