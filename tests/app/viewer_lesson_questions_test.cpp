// Questions of a lesson's card by mouse and by keyboard, the course's page, and answers in a file.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/lessons/results.h"
#include "app/played_lesson.h"
#include "app/text_on_screen.h"
#include "core/file.h"

namespace viewer_lesson_questions_test {

using namespace headlight;
using namespace headlight::app;
using shell::kAlt;
using shell::kControl;
using shell::Key;
using shell::kShift;

namespace {

/// A lesson whose one card with a task, of notebook 003, has this condition and these members besides.
struct Asking : PlayedLesson {
  explicit Asking(const std::string& condition, const std::string& more = "")
      : PlayedLesson(R"({"title": "One", "text": ["a"], "opens": {"preset": "notebook-003"}, "task": "Do", )" + more +
                     R"("done": [)" + condition + R"(]}, {"title": "Two", "text": ["b"]})") {}

  bool is_done() { return ui.sees("lesson.task.done"); }
  const ConditionStanding& standing() { return ui.window().lessons().standings()[0]; }
  CardMark mark() { return ui.window().settings().lessons.marks.at("mine").at(0); }
};

/// The text with one space in place of each space or end of line: texts are broken where a line is full.
std::string in_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

/// Walks by Tab to a control.
void focus(UiDriver& ui, const std::string& name) {
  const auto is_there = [&] {
    const auto focused = ui.ui().keyboard().rect();
    return focused && ui.rect(name).contains(focused->center());
  };
  for (int i = 0; i < 200 && !is_there(); ++i) ui.press(Key::Tab);
  REQUIRE(is_there());
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("options stand in the seed's order; one is chosen and then confirmed, and a wrong answer is marked") {
    Asking asked(R"({"choice": ["a", "b", "c"], "equals": 0, "hint": "Not that."})");
    UiDriver& ui = asked.ui;
    std::vector<std::size_t> order = {0, 1, 2};
    const auto place = [&](std::size_t option) { return ui.rect(fmt::format("lesson.choice.0.{}", option)).origin.y; };
    std::ranges::sort(order, {}, place);
    CHECK(order == shuffled(3, ui.window().lessons().seed()));
    ui.click("lesson.check.0");  // disabled: nothing is chosen
    ui.click("lesson.choice.0.1");
    CHECK_FALSE(ui.sees("lesson.hint"));
    ui.click("lesson.check.0");
    CHECK(ui.sees("lesson.hint"));
    CHECK(asked.mark().wrong == 1);
    focus(ui, "lesson.choice.0.0");
    ui.press(Key::Space);
    CHECK_FALSE(asked.is_done());
    ui.click("lesson.check.0");
    CHECK(asked.is_done());
    CHECK(ui.sees("lesson.later"));
    CHECK_FALSE(ui.sees("lesson.first_try"));
    const std::uint32_t before = ui.window().lessons().seed();
    ui.click("lesson.again");  // a try of its own
    CHECK(ui.window().lessons().seed() != before);
    CHECK_FALSE(asked.is_done());
  }

  TEST_CASE("lines are put into order by dragging and by Alt with arrows") {
    Asking asked(R"({"order": ["a", "b", "c", "d"], "hint": "Not yet."})");
    UiDriver& ui = asked.ui;
    const auto line = [](std::size_t option) { return fmt::format("lesson.order.0.{}", option); };
    const auto order = [&] {
      std::vector<std::size_t> options = {0, 1, 2, 3};
      std::ranges::sort(options, {}, [&](std::size_t option) { return ui.rect(line(option)).origin.y; });
      return options;
    };
    std::vector<std::size_t> now = order();
    CHECK_FALSE(std::ranges::is_sorted(now));
    ui.click("lesson.check.0");
    CHECK(ui.sees("lesson.hint"));
    ui.drag(line(now[3]), line(now[0]));  // over two others
    CHECK(order() == std::vector<std::size_t>{now[3], now[0], now[1], now[2]});
    ui.feed(shell::drag(ui.at(line(now[3]), 0.5F, 0.5F), ui.at(line(now[2]), 0.5F, 0.8F)));
    CHECK(order() == std::vector<std::size_t>{now[0], now[1], now[2], now[3]});
    focus(ui, line(now[1]));
    ui.press(Key::Up, kAlt);
    CHECK(order() == std::vector<std::size_t>{now[1], now[0], now[2], now[3]});
    ui.press(Key::Down, kAlt);
    ui.press(Key::Down, kAlt);
    CHECK(order() == std::vector<std::size_t>{now[0], now[2], now[1], now[3]});
    for (std::size_t option = 0; option < 4; ++option) {
      focus(ui, line(option));
      for (int i = 0; i < 3; ++i) ui.press(Key::Down, kAlt);  // each to the end
    }
    CHECK(order() == std::vector<std::size_t>{0, 1, 2, 3});
    ui.click("lesson.check.0");
    CHECK(asked.is_done());
  }

  TEST_CASE("an explanation is compared once it is long enough, and kept with its mark") {
    Asking asked(R"({"explain": "Why?", "answer": ["Because it is divided."]})");
    UiDriver& ui = asked.ui;
    ui.fill_in("lesson.explain.0", "It is so.");
    ui.click("lesson.compare.0");
    CHECK_FALSE(ui.sees("lesson.had.0.0"));
    const std::string text = "Softmax divides by the sum.";
    ui.fill_in("lesson.explain.0", text);
    ui.click("lesson.compare.0");
    CHECK(letters_on_screen().find("Becauseitisdivided.") != std::string::npos);
    CHECK_FALSE(asked.is_done());
    ui.click("lesson.had.0.1");
    CHECK(asked.is_done());
    CHECK(asked.standing().answer["text"] == text);
    CHECK(asked.standing().answer["mark"] == 1);
  }

  TEST_CASE("a map is painted by mouse and by keyboard, and compared with the one that is shown then") {
    Asking asked(R"({"draw": {}, "at_least": 0.5, "hint": "h"})", R"("conceals": true, )");
    UiDriver& ui = asked.ui;
    const auto cell = [](std::size_t row, std::size_t column) { return fmt::format("lesson.draw.0.{}.{}", row, column); };
    const nlohmann::json map = asked.standing().observed.wanted;
    REQUIRE(map.size() == 6);
    CHECK(ui.sees("grid.concealed"));
    ui.click("lesson.check.0");
    CHECK(ui.sees("lesson.hint"));
    CHECK(ui.sees("lesson.overlap"));
    CHECK_FALSE(asked.is_done());
    ui.drag(cell(0, 0), cell(0, 5));  // the whole row
    ui.click("lesson.strength.0.1");
    ui.click(cell(0, 2));
    const State before = ui.state();
    focus(ui, cell(0, 0));
    ui.press(Key::Down);
    ui.press(Key::Digit4);
    ui.press(Key::Right);
    ui.press(Key::Digit0);
    ui.press(Key::Right);
    ui.press(Key::Digit2);
    CHECK(ui.state() == before);  // the digits choose no stage
    ui.click("lesson.check.0");
    const nlohmann::json& answer = asked.standing().answer;
    CHECK(answer[0] == nlohmann::json({1.0, 1.0, 0.25, 1.0, 1.0, 1.0}));
    CHECK(answer[1] == nlohmann::json({1.0, 0.0, 0.5, 0.0, 0.0, 0.0}));
    CHECK_FALSE(asked.is_done());
    ui.click("lesson.again");
    for (int level = 1; level <= 4; ++level) {
      ui.click(fmt::format("lesson.strength.0.{}", level));
      for (std::size_t row = 0; row < map.size(); ++row) {
        const auto weights = map[row].get<std::vector<double>>();
        const double largest = *std::ranges::max_element(weights);
        for (std::size_t column = 0; column < weights.size(); ++column) {
          if (std::lround(4.0 * weights[column] / largest) == level) ui.click(cell(row, column));
        }
      }
    }
    ui.click("lesson.check.0");
    CHECK(asked.is_done());
    CHECK(ui.sees("lesson.overlap"));
    CHECK_FALSE(ui.sees("grid.concealed"));
  }

  TEST_CASE("arrows are dragged and moved by keyboard until their product is within the limits") {
    Asking asked(R"({"arrows": {"q": [1, 2], "k": [2, 0]}, "at_least": -0.05, "at_most": 0.05, "hint": "h"})");
    UiDriver& ui = asked.ui;
    ui.click("lesson.check.0");
    CHECK(ui.sees("lesson.hint"));
    focus(ui, "lesson.arrow.0.k");
    for (int i = 0; i < 10; ++i) ui.press(Key::Down);  // k becomes (2, −1)
    ui.click("lesson.check.0");
    CHECK(asked.is_done());
    CHECK(asked.standing().observed.value.get<double>() < 0.05);
    ui.click("lesson.again");
    const chart::Rect plane = ui.rect("lesson.plane.0");
    const glm::vec2 from = ui.rect("lesson.arrow.0.k").center();
    ui.feed(shell::drag(from * ui.ui().scale(), plane.center() * ui.ui().scale()));
    ui.click("lesson.check.0");
    CHECK(asked.is_done());
    CHECK(asked.standing().answer[1] == nlohmann::json({0.0, 0.0}));
  }

  TEST_CASE("a row by hand: wrong fields are marked, right ones stay, the next row comes when the first is right") {
    Asking asked(R"({"row_by_hand": {"of": "weights", "row": 1}, "hint": "h"},
                    {"row_by_hand": {"of": "heads", "row": 1}, "hint": "i"})");
    UiDriver& ui = asked.ui;
    const auto row = asked.standing().observed.wanted.get<std::vector<double>>();
    CHECK_FALSE(ui.sees("lesson.row.1.0"));
    CHECK_FALSE(ui.sees("lesson.row.0.2"));  // the weight of a masked key isn't asked for
    ui.fill_in("lesson.row.0.0", fmt::format("{:.3f}", row[0]));
    ui.fill_in("lesson.row.0.1", "0,1");
    ui.click("lesson.check.0");
    CHECK(ui.sees("lesson.hint"));
    CHECK_FALSE(asked.is_done());
    ui.fill_in("lesson.row.0.1", fmt::format("{:.3f}", row[1]));
    ui.click("lesson.check.0");
    CHECK_FALSE(asked.is_done());
    CHECK_FALSE(ui.sees("lesson.row.0.0"));
    REQUIRE(ui.sees("lesson.row.1.0"));
    const auto output = ui.window().lessons().standings()[1].observed.wanted.get<std::vector<double>>();
    for (std::size_t i = 0; i < output.size(); ++i) {
      ui.fill_in(fmt::format("lesson.row.1.{}", i), fmt::format("{:.3f}", output[i]));
    }
    ui.click("lesson.check.1");
    CHECK(asked.is_done());
  }

  TEST_CASE("a card that must be right twice opens with other numbers by itself") {
    Asking asked(
        R"({"number": "n", "equals": {"cell": {"row": 0, "column": 0}}, "within": 0.0005, "hint": "h"})",
        R"("try": {"opens": [{"masks": {"encoder": {"rule": "none"}}}, {"masks": {"encoder": {"rule": "causal"}}}], "times": 2},
                    "check": true, )");
    UiDriver& ui = asked.ui;
    const auto type = [&] {
      ui.fill_in("lesson.number.0", fmt::format("{:.4f}", asked.standing().observed.wanted.get<double>()));
      ui.click("lesson.check.0");
      ui.settle();
    };
    const State first = ui.state();
    type();
    CHECK(ui.state().masks != first.masks);
    CHECK_FALSE(asked.is_done());
    CHECK(ui.window().lessons().streak() == 1);
    type();
    CHECK(asked.is_done());
    CHECK(ui.sees("lesson.first_try"));
    CHECK(ui.window().settings().lessons.completed.contains("mine"));
  }

  TEST_CASE("answers are written to a file after each, which is read again and never overwritten by another kind") {
    const TemporaryDirectory folder;
    const std::filesystem::path path = folder.path() / "ada.json";
    {
      Asking asked(R"({"choice": ["a", "b"], "equals": 0, "hint": "h"})");
      UiDriver& ui = asked.ui;
      ui.window().record_answers(path);
      ui.settle();
      ui.fill_in("lesson.name", "Ada");
      CHECK_FALSE(std::filesystem::exists(path));
      ui.click("lesson.choice.0.1");
      ui.click("lesson.check.0");
      LessonResults results = read_results(path);
      CHECK(results.name == "Ada");
      REQUIRE(results.answers.size() == 1);
      CHECK_FALSE(results.answers[0].is_right);
      CHECK(results.answers[0].lesson == "mine");
      CHECK(results.answers[0].card == 1);
      CHECK(results.answers[0].answer == 1);
      ui.click("lesson.choice.0.0");
      ui.click("lesson.check.0");
      results = read_results(path);
      REQUIRE(results.answers.size() == 2);
      CHECK(results.answers[1].is_right);
      std::filesystem::remove_all(folder.path());  // from now on it can't be written
      ui.click("lesson.again");
      ui.click("lesson.choice.0.0");
      ui.click("lesson.check.0");
      CHECK(ui.window().notice().text.find("ada.json") != std::string::npos);
      CHECK(ui.window().notice().is_warning);
      CHECK(asked.is_done());
    }
    std::filesystem::create_directories(folder.path());
    std::ofstream(path) << R"({"headlight_results": 1, "name": "Eve", "answers": []})";
    UiDriver ui;
    ui.window().record_answers(path);
    ui.press(Key::F4);
    CHECK(ui.sees("lesson.name"));
    CHECK(letters_on_screen().find("ada.json") != std::string::npos);
    std::ofstream(path) << R"({"headlight_lesson": 1})";
    CHECK_THROWS_WITH_AS(ui.window().record_answers(path), doctest::Contains("headlight_results"), std::exception);
  }

  TEST_CASE("the course is one page: parts, what comes after what, the next lesson outlined, and one's own below") {
    Asking asked(R"({"choice": ["a", "b"], "equals": 0, "hint": "h"})");
    UiDriver& ui = asked.ui;
    ui.resize(1600, 2400);
    ui.click("lesson.list");
    const LessonList& list = ui.window().lessons().list();
    const std::vector<std::string> course = lessons_of(list.parts);
    const auto is_in = [&](const std::string& id) {
      const chart::Rect next = ui.rect("lesson.next_one"), entry = ui.rect("lesson.start." + id);
      return entry.contains(next.center());
    };
    CHECK(is_in(course[0]));
    std::string seen = in_one_line(text_on_screen());
    CHECK(seen.find(fmt::format("0 of {} passed", course.size())) != std::string::npos);
    for (const CoursePart& part : list.parts) CHECK(seen.find(part.title) != std::string::npos);
    CHECK(seen.find(fmt::format("after \u201C{}\u201D", list.find(course[0])->title)) != std::string::npos);
    CHECK(seen.find("Your own") != std::string::npos);
    CHECK(ui.rect("lesson.start.mine").origin.y > ui.rect("lesson.start." + course.back()).origin.y);
    ui.click("lesson.start." + course[2]);  // out of order
    CHECK(ui.window().lessons().played().id == course[2]);
    ui.press(Key::Period, kControl);
    ui.click("lesson.list");
    CHECK(in_one_line(text_on_screen()).find("at card 2 of") != std::string::npos);
    CHECK(is_in(course[0]));
    ui.click("lesson.language.de");
    ui.settle();
    seen = in_one_line(text_on_screen());
    CHECK(seen.find(fmt::format("0 von {} bestanden", course.size())) != std::string::npos);
    CHECK(seen.find("bei Karte 2 von") != std::string::npos);
    CHECK(seen.find("Deine eigenen") != std::string::npos);
    for (const CoursePart& part : ui.window().lessons().list().parts) CHECK(seen.find(part.title) != std::string::npos);
    for (const char* english : {"Lessons", "passed", "Your own", "after", "Close"}) {
      CAPTURE(english);
      CHECK(text_on_screen(ui.rect("lesson.next_one")).find(english) == std::string::npos);
    }
    check_tips(ui);
  }

  TEST_CASE("a card in German has a German panel: buttons, marks and what each question says") {
    Asking asked(R"({"choice": ["a", "b"], "equals": 0, "hint": "h", "de": {"hint": "H"}},
                    {"order": ["a", "b", "c"], "hint": "h"}, {"explain": "Why?", "answer": ["So."]},
                    {"draw": {}, "hint": "h"}, {"arrows": {"q": [1, 2], "k": [2, 0]}, "at_least": 5, "hint": "h"},
                    {"row_by_hand": {"of": "weights", "row": 1}, "hint": "h"})",
                 R"("conceals": true, "de": {"task": "Mach"}, "try": {"times": 2}, )");
    UiDriver& ui = asked.ui;
    ui.resize(1600, 2400);
    const chart::Rect panel{.origin = {}, .size = {ui.window().center().origin.x, 2400.0F}};
    const auto letters = [&] {
      std::string text = text_on_screen(panel);
      std::erase_if(text, [](char letter) { return letter == ' ' || letter == '\n'; });
      return text;
    };
    const std::string english = letters();
    ui.click("lesson.language.de");
    ui.settle();
    const std::string german = letters();
    for (const std::string word : {"Check", "Back", "Again", "Skip", "Restart", "Close", "Drag", "Writeatleast", "Paintwhat",
                                   "Strength", "Compare", "timesinarow"}) {
      CAPTURE(word);
      CAPTURE(english);
      CHECK(english.find(word) != std::string::npos);
      CHECK(german.find(word) == std::string::npos);
    }
    check_tips(ui);
  }

  TEST_CASE("a card hides in Steps what it asks and what follows from it, and who a nameless head is") {
    Asking asked(R"({"number": "n", "equals": 0.5, "hint": "h"})",
                 R"("conceals": "scores", "nameless": true, "matrix": "scores", )");
    UiDriver& ui = asked.ui;
    ui.show("steps");
    const auto count = [&](const std::string& name) {
      const shell::PixelImage image = ui.ui().read_pixels();
      chart::Rect box = ui.rect(name);  // below its caption
      box.origin.y += 0.4F * box.size.y;
      box.size.y *= 0.35F;
      std::set<std::uint32_t> colors;
      for (auto y = static_cast<std::uint32_t>(box.origin.y) + 2; y + 2 < static_cast<std::uint32_t>(box.end().y); ++y) {
        for (auto x = static_cast<std::uint32_t>(box.origin.x) + 2; x + 2 < static_cast<std::uint32_t>(box.end().x); ++x) {
          colors.insert(image.at(x, y));
        }
      }
      return colors.size();
    };
    CHECK(count("steps.small.q") > 8);
    CHECK(count("steps.small.scores") <= 4);
    CHECK(count("steps.small.weights") <= 4);
    ui.fill_in("lesson.number.0", "0.5");
    ui.click("lesson.check.0");
    REQUIRE(asked.is_done());
    CHECK(count("steps.small.scores") > 8);
    CHECK(count("steps.small.weights") > 8);
  }
}

}  // namespace viewer_lesson_questions_test
