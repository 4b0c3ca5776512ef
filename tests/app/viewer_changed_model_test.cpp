// The window while a model's files change on disk.
#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "app/ui_driver.h"
#include "support/retrained_model.h"
#include "support/temporary_directory.h"

namespace viewer_changed_model_test {

using namespace headlight;
using namespace headlight::app;

namespace {

/// The number in the first row of the selected map's first key, of the golden GPT-2's copy.
float shown_weight(const UiDriver& ui) {
  for (const auto& [query, tile] : ui.result().tiles) {
    if (query.quantity == QuantityId(attention::Stage::Weights) && tile.tile->values.size() > 1)
      return tile.tile->values.at(tile.tile->values.size() / 2);
  }
  FAIL("no map of weights is on screen");
  return 0.0F;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE(
      "a model that is trained further is opened again by the next edit, or by opening it once more, and the window says "
      "so") {
    const TemporaryDirectory folder;
    const std::string path = test::copy_of_golden("gpt2", folder.path() / "trained").string();
    UiDriver ui;
    ui.window().open_model(path);
    ui.settle();
    REQUIRE(model_path(ui.state().source) == path);
    const auto first = ui.result().model;
    test::retrained(path);
    ui.settle();
    CHECK(ui.result().model == first);
    ui.fill_in("text.edit", "the cat sat on a mat");
    CHECK(ui.result().model != first);
    CHECK(ui.result().error == "");
    CHECK(ui.window().notice().text == "trained has changed on disk since it was opened; it was opened again.");
    CHECK_FALSE(ui.window().notice().is_warning);
    ui.click("notice.close");

    const auto second = ui.result().model;
    const float before = shown_weight(ui);
    test::retrained(path);  // back to what it was: the same bits are flipped
    ui.window().open_model(path);
    ui.settle();
    CHECK(ui.result().model != second);
    CHECK(ui.result().model != nullptr);
    CHECK(shown_weight(ui) != before);
    CHECK(ui.window().notice().text == "trained has changed on disk since it was opened; it was opened again.");
    CHECK(ui.state().text() == "the cat sat on a mat");

    ui.window().open_model(path);  // nothing has changed
    ui.click("notice.close");
    ui.settle();
    CHECK(ui.window().notice().text == "");
  }
}

}  // namespace viewer_changed_model_test
