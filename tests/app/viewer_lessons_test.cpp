// Lessons in the window: each is played to its end by mouse and keyboard, and what it claims is measured.
#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/quantities/evaluation.h"
#include "app/ui_driver.h"

namespace viewer_lessons_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

namespace {

using Deed = std::function<void(UiDriver&)>;

Deed presses(Key key, int times = 1) {
  return [key, times](UiDriver& ui) {
    for (int i = 0; i < times; ++i) ui.press(key);
  };
}
Deed clicks(const std::string& name) {
  return [name](UiDriver& ui) { ui.click(name); };
}
Deed pins(std::uint32_t query, std::uint32_t key) {
  return [query, key](UiDriver& ui) { ui.click_cell(query, key); };
}

/// What the user does for each card with a task, in the order of the cards.
const std::map<std::string, std::vector<Deed>>& deeds() {
  static const std::map<std::string, std::vector<Deed>> kDeeds = {
      {"1-what-a-query-is",
       {[](UiDriver& ui) { ui.fill_in("text.edit", "A dog runs through the grass."); }, pins(3, 2), presses(Key::Digit2),
        presses(Key::Down)}},
      {"2-notebook-000", {clicks("mask.fill.0"), clicks("mask.fill.1")}},
      {"3-notebook-001", {presses(Key::C), presses(Key::Right, 3), clicks("text.cross")}},
      {"4-notebook-002",
       {presses(Key::P), [](UiDriver& ui) { ui.fill_in("text.edit", "Ein kleiner Mann l\u00E4uft am Strand."); },
        [](UiDriver& ui) {
          ui.click("head.mean");
          ui.click("head.mean.layer");
        }}},
      {"5-notebook-003",
       {pins(2, 1),
        [](UiDriver& ui) {
          ui.click("model.details");
          ui.click("model.merge");
          ui.click("model.merge.1");
        }}},
      {"6-notebook-004", {pins(1, 4), presses(Key::Right, 2)}},
      {"7-finding-induction",
       {presses(Key::Right, 5),
        [](UiDriver& ui) {
          ui.press(Key::Down);
          ui.press(Key::Left);
        },
        pins(10, 3), presses(Key::K), clicks("status.reset.button")}},
      {"8-without-the-mask",
       {presses(Key::C), presses(Key::Digit1), pins(5, 16), presses(Key::C),
        [](UiDriver& ui) { ui.click_within("mask.window", 0.5F, 0.5F); }}},
  };
  return kDeeds;
}

/// Opens the list of lessons and one of them.
void start(UiDriver& ui, const std::string& id) {
  if (!ui.window().lessons().is_open()) ui.press(Key::F4);
  if (ui.window().lessons().lesson()) ui.click("lesson.list");
  ui.click("lesson.start." + id);
  REQUIRE_MESSAGE(ui.window().lessons().lesson(), ui.window().notice().text);
}

/// Weight of a cell of the selected head in the run on screen.
float weight(const UiDriver& ui, std::uint32_t query, std::uint32_t key) { return weights(ui).at(query, key); }

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("every lesson is played to its end") {
    UiDriver ui;
    ui.resize(1600, 2400);  // all sections of the sidebar are in sight
    for (const auto& lesson : deeds()) {
      const std::string id = lesson.first;
      CAPTURE(id);
      start(ui, id);
      std::size_t next_deed = 0;
      while (ui.window().lessons().lesson()) {
        const LessonPlayer& player = ui.window().lessons();
        const std::string title = player.card().title;
        const std::string notice = ui.window().notice().text;
        CAPTURE(title);
        CAPTURE(notice);
        if (player.card().numbers) CHECK(ui.sees("lesson.numbers.agree"));
        if (!player.card().done.empty()) {
          CHECK(ui.sees("lesson.task"));
          REQUIRE(next_deed < lesson.second.size());
          lesson.second[next_deed++](ui);
          REQUIRE(ui.sees("lesson.task.done"));
        }
        ui.click("lesson.next");
      }
      CHECK(next_deed == lesson.second.size());
      CHECK(ui.window().settings().lessons.completed.contains(id));
    }
    CHECK(deeds().size() == ui.window().lessons().list().lessons.size());
  }

  TEST_CASE("the induction lesson tells the truth: without the previous-token head the induction head's diagonal is gone") {
    UiDriver ui(State{}, open_gpu_runner);
    start(ui, "7-finding-induction");
    for (int card = 0; card < 2; ++card) ui.press(Key::Period, kControl);
    REQUIRE(ui.state().selection.block.layer.value == 1);
    REQUIRE(ui.state().selection.head == 4);
    // The token after the last occurrence of each token of the second half: a diagonal.
    const auto on_diagonal = [&] {
      const std::uint32_t tokens = ui.result().shapes.at(ui.state().selection.block).queries;
      const std::uint32_t repeat = 10;  // tokens of "A man in a red shirt rides a horse."
      float sum = 0.0F;
      std::uint32_t count = 0;
      for (std::uint32_t query = repeat + 1; query + 1 < tokens; ++query, ++count) {
        sum += weight(ui, query, query - repeat + 1);
      }
      return sum / static_cast<float>(count);
    };
    const float before = on_diagonal();
    CHECK(before > 0.5F);
    ui.press(Key::Period, kControl);  // the card opens layer 0, head 5
    REQUIRE(ui.state().selection.head == 5);
    ui.press(Key::K);
    CHECK(ui.sees("lesson.task.done"));
    ui.press(Key::Period, kControl);
    REQUIRE(ui.state().selection.head == 4);
    const float after = on_diagonal();
    CAPTURE(before);
    CHECK(after < 0.1F);
  }

  TEST_CASE("the lesson without the mask tells the truth: the model finds the next token where the mask had hidden it") {
    UiDriver ui(State{}, open_gpu_runner);
    start(ui, "8-without-the-mask");
    constexpr std::uint32_t kRides = 986;  // in the vocabulary of captions-gpt2
    const auto probability = [&] {
      const PredictionPosition position = prediction_position(ui.state(), ui.result());
      REQUIRE(position.token == 5);
      for (const auto& [query, prediction] : ui.result().predictions) {
        if (query.token != position.token || query.layer != 4) continue;
        for (const inference::Candidate& candidate : prediction.candidates) {
          if (candidate.id == kRides) return candidate.probability;
        }
      }
      return 0.0;  // not among the likeliest
    };
    CHECK(probability() < 0.02);
    ui.press(Key::C);
    CHECK(probability() > 0.85);
    ui.press(Key::Period, kControl);
    ui.press(Key::Period, kControl);
    CHECK(weight(ui, 5, 16) > 0.4F);
    CHECK(weight(ui, 5, 6) > 0.3F);
  }

  TEST_CASE("whether printed numbers agree is said above their tables, and seen without scrolling") {
    UiDriver ui;
    start(ui, "4-notebook-002");
    while (!ui.window().lessons().card().numbers) ui.press(Key::Period, kControl);
    ui.resize(1280, 800);
    ui.frames_until([&] { return ui.sees("lesson.numbers.agree"); });
    REQUIRE(ui.sees("lesson.numbers.agree"));
    CHECK(ui.rect("lesson.numbers.agree").end().y < ui.rect("lesson.next").origin.y);
  }

  TEST_CASE("a card with a wide table comes to rest in a sidebar of every width") {
    // A table that fits only without a scroll bar, which only the table needs, must not come and go.
    UiDriver ui;
    start(ui, "3-notebook-001");
    for (int i = 0; i < 4; ++i) ui.press(Key::Period, kControl);
    REQUIRE(ui.window().lessons().card().numbers);
    REQUIRE(ui.window().lessons().card().numbers->query.columns == 8);
    for (const std::uint32_t height : {1000U, 800U, 640U}) {
      ui.resize(1600, height);
      for (float width = 300.0F; width < 400.0F; width += 4.0F) {
        CAPTURE(height);
        CAPTURE(width);
        const float from = ui.rect("splitter.sidebar").center().x;
        ui.ui().feed(shell::drag({from, 400.0F}, {width, 400.0F}));
        REQUIRE_NOTHROW(ui.settle());
        CHECK(ui.window().settings().panes.sidebar == width);
      }
    }
  }

  TEST_CASE("a lesson can be skipped through, gone back in, opened again, left and found where it was left") {
    UiDriver ui;
    const State before = ui.state();
    start(ui, "5-notebook-003");
    CHECK(notebook_name(ui.state().source) == "notebook-003");
    CHECK(ui.sees("lesson.numbers.agree"));
    ui.press(Key::C);  // the printed numbers are another mask's
    CHECK(ui.sees("lesson.numbers.differ"));
    ui.click("lesson.again");
    CHECK(ui.sees("lesson.numbers.agree"));
    ui.press(Key::Period, kControl);
    CHECK(ui.window().lessons().card_index() == 1);
    CHECK_FALSE(ui.sees("lesson.task.done"));
    ui.press(Key::Comma, kControl);
    CHECK(ui.window().lessons().card_index() == 0);
    ui.press(Key::Period, kControl);
    ui.click("lesson.close");
    CHECK_FALSE(ui.sees("lesson.next"));
    ui.press(Key::F4);
    ui.click("lesson.start.5-notebook-003");
    CHECK(ui.window().lessons().card_index() == 1);
    ui.click("lesson.restart");
    CHECK(ui.window().lessons().card_index() == 0);
    ui.click("lesson.back");
    CHECK(ui.window().lessons().lesson() == nullptr);
    while (ui.window().undo().can_undo()) ui.press(Key::Z, kControl);
    CHECK(ui.state() == before);
  }
}

}  // namespace viewer_lessons_test
