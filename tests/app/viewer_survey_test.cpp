// A survey beside the selected head: "what does this head do", and the texts that show it.
#include <doctest/doctest.h>

#include "app/ui_driver.h"
#include "support/temporary_directory.h"
#include "survey/written_survey.h"

namespace viewer_survey_test {

using namespace headlight;
using namespace headlight::app;

TEST_SUITE("gpu") {
  TEST_CASE("a click on a survey's text shows it with the measured tokens and the cell") {
    const TemporaryDirectory folder;
    test::write_small_survey(folder.path(), kGoldenModels + "gpt2");
    UiDriver ui;
    show_golden_model(ui, "gpt2");
    CHECK_FALSE(ui.sees("survey.example.0"));
    ui.window().show_survey(read_survey(folder.path()));
    ui.settle();
    CHECK_FALSE(ui.sees("survey.example.0"));  // folded
    ui.click("section.survey");
    REQUIRE(ui.sees("survey.example.0"));
    CHECK(ui.sees("survey.metric.0"));
    check_tips(ui);
    ui.click("grid.encoder.1.1");
    ui.click("survey.example.0");
    ui.settle();
    CHECK(ui.state().text() == "text 3");
    CHECK(ui.state().model().ids == std::vector<std::vector<std::uint32_t>>{{5, 6, 7}});
    REQUIRE(ui.state().view.pinned);
    CHECK(ui.state().view.pinned->query == 2);
    CHECK(ui.state().view.pinned->key == 1);
    CHECK(ui.result().shapes.begin()->second.queries == 3);
    CHECK(ui.result().error.empty());
    ui.press(shell::Key::Z, shell::kControl);
    CHECK(ui.state().text() != "text 3");
  }

  TEST_CASE("beside a head is what a survey says of its own model, and nothing of another one") {
    const TemporaryDirectory folder;
    test::write_small_survey(folder.path(), kGoldenModels + "llama");
    UiDriver ui;
    show_golden_model(ui, "gpt2");
    ui.window().show_survey(read_survey(folder.path()));
    ui.settle();
    CHECK_FALSE(ui.sees("section.survey"));
    show_golden_model(ui, "llama");
    CHECK(ui.sees("section.survey"));
  }
}

}  // namespace viewer_survey_test
