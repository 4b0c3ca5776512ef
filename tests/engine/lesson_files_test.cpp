// Files of lessons: what is refused, what is odd about one, and what is printed of it.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/lessons/card_runner.h"
#include "app/lessons/lesson.h"
#include "core/file.h"
#include "engine/small_lesson.h"
#include "support/error_message.h"

namespace lesson_files_test {

using namespace headlight;
using namespace headlight::app;
using nlohmann::json;
using test::LessonFile;
using test::small_lesson;

namespace {

std::string refusal_of(const json& lesson) {
  const LessonFile file(lesson);
  const std::string message = test::error_message([&] { read_lesson(file.path); });
  const std::string name = file.path.string() + ": ";
  CHECK(message.starts_with(name));
  return message.substr(std::min(name.size(), message.size()));
}

/// The small lesson with one member of its first card replaced, or removed where the value is null.
json with(const char* pointer, const json& value) {
  json lesson = small_lesson();
  json& card = lesson["cards"][0];
  const json::json_pointer at(pointer);
  if (value.is_null()) {
    card.erase(at.back());
  } else {
    card[at] = value;
  }
  return lesson;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a lesson is checked: tasks done before they are begun, printed numbers of something else") {
    json lesson = small_lesson();
    lesson["cards"][0]["done"] = {{{"field", "view.tab"}, {"equals", "head"}},
                                  {{"largest_key", {{"row", 2}}}, {"equals", 1}},
                                  {{"cell", {{"row", 0}, {"column", 0}}}, {"at_least", 0.99}}};
    lesson["cards"][0]["numbers"] = {
        {"source", "s"}, {"quantity", "weights"}, {"row", 1}, {"values", {{0.3924, 0.7076}}}, {"decimals", 4}};
    lesson["cards"][1]["numbers"] = {{"source", "s"}, {"quantity", "weights"}, {"row", 60}, {"values", {{1.0}}}};
    lesson["cards"][2]["done"].push_back({{"field", "view.tab"}, {"differs", "lines"}});
    const LessonFile file(lesson);
    CHECK(
        check_lesson(read_lesson(file.path), test::reference_engine()) ==
        std::vector<std::string>{
            "mine.json: card 1, \"One\": its task is completed before anything is done",
            "mine.json: card 1, \"One\": Row 1, column 1: printed is 0.7076, computed is 0.6076. The run is the card's, so "
            "the printed number is of something else.",
            "mine.json: card 2, \"Two\": the run has no such matrix as \"numbers\" names",
            "mine.json: card 3, \"Three\": done[1] holds when the card opens"});
    const LessonFile plain(small_lesson());
    CHECK(check_lesson(read_lesson(plain.path), test::reference_engine()).empty());
  }

  TEST_CASE("files that are no lessons are refused in one line that says what and where") {
    CHECK(refusal_of(json::object()) == "no Headlight lesson: it has no member \"headlight_lesson\"");
    CHECK(refusal_of(with("/title", nullptr)) == "cards[0].title: expected a text");
    CHECK(refusal_of(with("/text", "a")) == "cards[0].text: expected a list, found \"a\"");
    CHECK(refusal_of(with("/colour", 1)) == "cards[0].colour: no such member");
    CHECK(refusal_of(with("/opens", {{"masc", 1}})) == "cards[0].opens.masc: there is no such setting");
    CHECK(refusal_of(with("/opens", {{"view", {{"tob", 1}}}})) == "cards[0].opens.view.tob: there is no such setting");
    CHECK(refusal_of(with("/opens", {{"preset", "notebook-7"}})).starts_with("cards[0].opens: unknown preset"));
    CHECK(refusal_of(with("/opens", {{"view", {{"theme", 3}}}})).starts_with("cards[0].opens: view.theme: expected one of"));
    CHECK(refusal_of(with("/second_text", "x")) ==
          "cards[0].second_text: what the card opens has no text of its own to compare");
    CHECK(refusal_of(with("/done", nullptr)).starts_with("cards[0]: a task needs \"done\""));
    CHECK(refusal_of(with("/done/0/field", "view.pined")) == "cards[0].done[0].field: there is no setting 'view.pined'");
    CHECK(refusal_of(with("/done/0/at_most", 3)).starts_with("cards[0].done[0]: expected one of equals"));
    CHECK(refusal_of(with("/done/0/loss", json::object())) == "cards[0].done[0]: expected one of field and loss, not both");
    const auto refusal_of_condition = [](const json& condition) {
      const std::string refusal = refusal_of(with("/done/0", condition)), place = "cards[0].done[0]";
      CHECK(refusal.starts_with(place));
      return refusal.substr(std::min(place.size(), refusal.size()));
    };
    CHECK(refusal_of_condition({{"equals", 1}}) ==
          ": expected one of field, cell, offset, largest_key, metric, probability, loss, exercise, choice, number, click, "
          "order, explain, draw, arrows, row_by_hand");
    CHECK(refusal_of_condition({{"exercise", "001/tsak"}}) == ".exercise: there is no exercise '001/tsak'");
    CHECK(refusal_of_condition({{"cell", {{"rwo", 1}}}, {"at_least", 1}}) == ".cell.rwo: no such member");
    CHECK(
        refusal_of_condition({{"cell", {{"row", -1}}}, {"at_least", 1}}).starts_with(".cell.row: expected a whole number"));
    CHECK(refusal_of_condition({{"cell", 1}, {"at_least", 1}}).starts_with(".cell: expected an object"));
    CHECK(refusal_of_condition({{"cell", {{"quantity", "wights"}}}, {"at_least", 1}}) ==
          ".cell.quantity: there is no quantity \"wights\"");
    CHECK(refusal_of_condition({{"cell", json::object()}, {"at_least", "1"}}) ==
          ": expected a number after at_least or at_most");
    CHECK(refusal_of_condition({{"metric", json::object()}, {"at_least", 1}})
              .starts_with(".metric.metric: expected one of prev"));
    CHECK(refusal_of_condition({{"probability", json::object()}, {"at_least", 1}}) ==
          ".probability.token: expected a token");
    CHECK(refusal_of_condition({{"number", "p"}, {"equals", 1}}).starts_with(": a question needs a \"hint\""));
    CHECK(refusal_of_condition({{"number", "p"}, {"equals", {{"number", "q"}}}, {"hint", "h"}})
              .starts_with(": an answer is compared with what is observed"));
    CHECK(refusal_of_condition({{"number", "p"}, {"equals", 1}, {"within", -1}, {"hint", "h"}})
              .starts_with(".within: expected a number, 0 or more"));
    CHECK(refusal_of_condition({{"choice", {"a"}}, {"equals", 0}, {"hint", "h"}}) ==
          ".choice: expected a list of 2 to 8 texts");
    CHECK(refusal_of_condition({{"choice", {"a", "b"}}, {"equals", 2}, {"hint", "h"}}) ==
          ": expected the number of the right choice, from 0 to 1");
    CHECK(refusal_of(with("/image", "/etc/passwd")).starts_with("cards[0].image: expected the name of a file beside"));
    CHECK(refusal_of(with("/image", "../a.png")).starts_with("cards[0].image: expected the name of a file beside"));
    CHECK(refusal_of(with("/de", 1)) == "cards[0].de: expected an object with texts, found 1");
    CHECK(refusal_of(with("/de", {{"titel", "x"}})) ==
          "cards[0].de.titel: expected as many texts as \"titel\" has beside it");
    CHECK(refusal_of(with("/de", {{"text", {"x", "y"}}})) ==
          "cards[0].de.text: expected as many texts as \"text\" has beside it");
    CHECK(refusal_of(with("/de", {{"opens", {{"text", "x"}}}})).starts_with("cards[0].de.opens: expected as many texts"));
    const json numbers = {{"source", "s"}, {"quantity", "weights"}, {"values", {{1, 2}, {3}}}};
    CHECK(refusal_of(with("/numbers", numbers)).starts_with("cards[0].numbers.values: expected rows of equally many"));
    CHECK(refusal_of(with("/numbers", {{"source", "s"}, {"quantity", "wights"}})) ==
          "cards[0].numbers.quantity: there is no quantity 'wights'");
    json many = small_lesson();
    for (int i = 0; i < 100; ++i) many["cards"].push_back({{"title", "T"}, {"text", {"a"}}});
    CHECK(refusal_of(many) == "cards: expected a list of 1 to 100 cards");
    const LessonFile file(json::array());
    std::ofstream(file.path) << "{";
    const LessonList list = read_lessons({file.folder.path(), file.folder.path() / "nowhere"});
    CHECK(list.lessons.empty());
    REQUIRE(list.problems.size() == 1);
    CHECK(list.problems.front().find("mine.json") != std::string::npos);
  }
}

}  // namespace lesson_files_test
