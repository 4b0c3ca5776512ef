// Questions of lessons: what is right, what is asked again, claims, courses and results.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "app/lessons/card_runner.h"
#include "app/lessons/lesson_player.h"
#include "app/lessons/results.h"
#include "core/file.h"
#include "engine/small_lesson.h"
#include "support/error_message.h"

namespace lesson_questions_test {

using namespace headlight;
using namespace headlight::app;
using nlohmann::json;
using test::LessonFile;
using test::reference_engine;
using test::small_lesson;

namespace {

/// A lesson whose one card, of notebook 003, asks this.
json asking(const json& condition, const json& more = json::object()) {
  json lesson = small_lesson();
  json card = {{"title", "One"},
               {"text", {"a"}},
               {"opens", {{"preset", "notebook-003"}}},
               {"task", "Do"},
               {"done", json::array({condition})}};
  card.update(more);
  lesson["cards"] = json::array({card});
  return lesson;
}

/// Is the card's one condition met with this answer?
bool is_right(const json& lesson, const json& answer) {
  const LessonFile file(lesson);
  const Lesson read = read_lesson(file.path);
  CardRunner runner(read, reference_engine());
  runner.open_next();
  return runner.observe_conditions(runner.card().done, {answer}).front().is_met;
}

json wanted_of(const json& lesson) {
  const LessonFile file(lesson);
  const Lesson read = read_lesson(file.path);
  CardRunner runner(read, reference_engine());
  runner.open_next();
  return runner.observe_conditions(runner.card().done).front().wanted;
}

/// A lesson of cards that ask for a number, right is 1, with those members besides.
json numbers_lesson(std::size_t cards, const json& more = json::object()) {
  json lesson = small_lesson();
  json card = {
      {"title", "N"}, {"text", {"a"}}, {"task", "Type"}, {"done", {{{"number", "n"}, {"equals", 1}, {"hint", "One."}}}}};
  card.update(more);
  lesson["cards"] = json::array();
  for (std::size_t i = 0; i < cards; ++i) lesson["cards"].push_back(card);
  return lesson;
}

/// Somebody who plays the one lesson of a folder.
struct Player {
  explicit Player(const json& lesson) : file(lesson), player(read_lessons({file.folder.path()})) { start(); }

  void start(bool restarts = false) {
    REQUIRE(player.start(0, restarts, state, progress) == "");
    observe();
  }
  void observe() {
    std::vector<Query> queries;
    player.observe(state, {}, queries, progress);
  }
  void answer(double value) {
    observe();
    player.answer(0, value);
    observe();
  }
  void go_on() {
    REQUIRE(player.go_on(state, progress) == "");
    observe();
  }
  CardMark mark(std::uint32_t card) { return progress.marks["mine"][card]; }

  LessonFile file;
  LessonPlayer player;
  LessonProgress progress;
  State state;
};

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a row by hand: each number within what is allowed, of the run on screen") {
    const json weights = asking({{"row_by_hand", {{"of", "weights"}, {"row", 1}}}, {"hint", "h"}});
    const auto row = wanted_of(weights).get<std::vector<double>>();
    REQUIRE(row.size() > 2);
    CHECK(std::abs(row[1] - 0.6076) < 1e-4);  // as notebook 003 prints it
    CHECK(is_right(weights, row));
    std::vector<double> near = row, far = row;
    near.back() += 0.004;
    far.back() += 0.006;
    CHECK(is_right(weights, near));
    CHECK_FALSE(is_right(weights, far));
    json lacking = row;
    lacking.back() = nullptr;
    CHECK_FALSE(is_right(weights, lacking));
    lacking.erase(lacking.size() - 1);
    CHECK_FALSE(is_right(weights, lacking));
    const json output = asking({{"row_by_hand", {{"of", "heads"}, {"row", 1}}}, {"within", 0.5}, {"hint", "h"}});
    std::vector<double> heads = wanted_of(output).get<std::vector<double>>();
    heads.front() += 0.4;
    CHECK(is_right(output, heads));
  }

  TEST_CASE("a painted map: the mean over rows of what both share") {
    using Map = std::vector<std::vector<double>>;
    const auto both = [](const Map& painted, const Map& computed) { return overlaps(json(painted), json(computed)); };
    CHECK(both({{1, 0}, {1, 1}}, {{0.9, 0.1}, {0.2, 0.8}}) == std::vector<double>{0.9, 0.7});
    CHECK(both({{0, 0}}, {{0.5, 0.5}}) == std::vector<double>{0.0});
    CHECK(both({{1, 0, 0}}, {{0.5, 0.5}}).empty());
    CHECK(both({{1, 0}}, {{0.5, 0.5}, {1, 0}}).empty());
    const json lesson = asking({{"draw", json::object()}, {"at_least", 0.9}, {"hint", "h"}}, {{"conceals", true}});
    const json map = wanted_of(lesson);
    REQUIRE(map.is_array());
    CHECK(is_right(lesson, map));
    json scaled = map;
    for (json& number : scaled[1]) number = 0.25 * number.get<double>();  // rows are normalised
    CHECK(is_right(lesson, scaled));
    json blank = map;
    for (json& number : blank[1]) number = 0;
    CHECK_FALSE(is_right(lesson, blank));
    const json by_default = asking({{"draw", json::object()}, {"hint", "h"}}, {{"conceals", true}});
    const LessonFile file(by_default);
    CHECK(read_lesson(file.path).cards[0].done[0].value == 0.6);
  }

  TEST_CASE("arrows, an order, an explanation") {
    const json arrows =
        asking({{"arrows", {{"q", {1, 2}}, {"k", {2, 0}}}}, {"at_least", -0.05}, {"at_most", 0.05}, {"hint", "h"}});
    CHECK(is_right(arrows, {{1.0, 2.0}, {2.0, -1.0}}));
    CHECK_FALSE(is_right(arrows, {{1.0, 2.0}, {2.0, 0.0}}));
    CHECK_FALSE(is_right(arrows, {{1.0, 2.0}, {2.0, -1.1}}));
    const json order = asking({{"order", {"a", "b", "c"}}, {"hint", "h"}});
    CHECK(is_right(order, {0, 1, 2}));
    CHECK_FALSE(is_right(order, {0, 2, 1}));
    const json explain = asking({{"explain", "Why?"}, {"answer", {"Because."}}});
    CHECK_FALSE(is_right(explain, nullptr));
    for (const int mark : {0, 1, 2}) CHECK(is_right(explain, {{"text", "twenty letters or more"}, {"mark", mark}}));
  }

  TEST_CASE("what is wrong with new members is said, and where") {
    const auto refusal = [](const json& lesson) {
      const LessonFile file(lesson);
      const std::string message = test::error_message([&] { read_lesson(file.path); });
      const std::string name = file.path.string() + ": cards[0]";
      REQUIRE_MESSAGE(message.starts_with(name), message);
      return message.substr(name.size());
    };
    CHECK(refusal(asking({{"order", {"a"}}, {"hint", "h"}})) == ".done[0].order: expected a list of 2 to 8 texts");
    CHECK(refusal(asking({{"order", {"a", "b"}}})).starts_with(".done[0]: a question needs a \"hint\""));
    CHECK(refusal(asking({{"order", {"a", "b"}}, {"equals", 1}, {"hint", "h"}})) == ".done[0].equals: no such member");
    CHECK(refusal(asking({{"explain", "a"}})) == ".done[0].answer: expected a list of texts");
    CHECK(refusal(asking({{"explain", ""}, {"answer", {"a"}}})) == ".done[0].explain: expected a text");
    CHECK(refusal(asking({{"choice", {"a", "b"}}, {"equals", 0}, {"answer", {"a"}}, {"hint", "h"}})) ==
          ".done[0].answer: no such member");
    CHECK(refusal(asking({{"draw", json::object()}, {"hint", "h"}}))
              .starts_with(": a map that is to be drawn needs \"conceals\""));
    CHECK(refusal(asking({{"draw", {{"row", 1}}}, {"hint", "h"}}, {{"conceals", true}})) ==
          ".done[0].draw.row: no such member");
    CHECK(refusal(asking({{"draw", true}, {"hint", "h"}}, {{"conceals", true}}))
              .starts_with(".done[0].draw: expected an object"));
    CHECK(refusal(asking({{"arrows", {{"q", {1}}, {"k", {1, 1}}}}, {"at_least", 0}, {"hint", "h"}})) ==
          ".done[0].arrows.q: expected two numbers from -5 to 5");
    CHECK(refusal(asking({{"arrows", {{"q", {1, 9}}, {"k", {1, 1}}}}, {"at_least", 0}, {"hint", "h"}}))
              .starts_with(".done[0].arrows.q: expected two numbers"));
    CHECK(refusal(asking({{"arrows", {{"q", {1, 1}}, {"k", {1, 1}}}}, {"hint", "h"}}))
              .starts_with(".done[0]: expected one of equals"));
    CHECK(refusal(asking({{"arrows", {{"q", {1, 1}}, {"k", {1, 1}}}}, {"at_least", "a"}, {"at_most", 1}, {"hint", "h"}}))
              .starts_with(".done[0]: expected a number after at_least"));
    CHECK(refusal(asking({{"row_by_hand", {{"of", "wights"}, {"row", 1}}}, {"hint", "h"}})) ==
          ".done[0].row_by_hand.quantity: there is no quantity \"wights\"");
    CHECK(refusal(asking({{"row_by_hand", {{"of", "weights"}}}, {"hint", "h"}})) ==
          ".done[0].row_by_hand.row: expected the number of a row, from 0");
    CHECK(refusal(asking({{"row_by_hand", {{"of", "weights"}, {"row", 1}, {"column", 1}}}, {"hint", "h"}})) ==
          ".done[0].row_by_hand.column: no such member");
    const json number = {{"number", "n"}, {"equals", 1}, {"hint", "h"}};
    CHECK(
        refusal(asking(number, {{"try", {{"times", 0}}}})).starts_with(".try.times: expected a whole number from 1 to 10"));
    CHECK(refusal(asking(number, {{"try", {{"time", 2}}}})) == ".try.time: no such member");
    CHECK(refusal(asking(number, {{"opens", {{"preset", ""}}}, {"try", {{"seeds", {-1}}}}})).starts_with(".try[0]: "));
    CHECK(refusal(asking(number, {{"try", {{"texts", {1}}}}})).starts_with(".try.texts: expected texts"));
    CHECK(refusal(asking(number, {{"try", {{"opens", {1}}}}})).starts_with(".try[0]: expected an object with settings"));
    CHECK(refusal(asking(number, {{"try", {{"opens", {{{"masc", 1}}}}}}})) == ".try[0].masc: there is no such setting");
    CHECK(refusal(asking(number, {{"check", 1}})).starts_with(".check: expected true or false"));
    CHECK(refusal(asking(number, {{"conceals", "wights"}})).starts_with(".conceals: expected one of"));
    CHECK(refusal(asking(number, {{"conceals", 1}})).starts_with(".conceals: expected true or false"));
    json to_read = asking(number);
    to_read["cards"][0].erase("task");
    to_read["cards"][0].erase("done");
    to_read["cards"][0]["check"] = true;
    CHECK(refusal(to_read).starts_with(": \"reveal\", \"conceals\""));
    const json cell = {{"cell", {{"row", 1}, {"column", 1}}}, {"equals", 0.61}, {"within", 0.005}};
    CHECK(refusal(asking(number, {{"claims", 1}})) == ".claims: expected an object, found 1");
    CHECK(refusal(asking(number, {{"claims", {{"w", cell}}}})) == ".claims.w: no text of the card refers to it");
    CHECK(refusal(asking(number, {{"text", {"{0.61|v}"}}, {"claims", {{"w", cell}}}})) == ".text[0]: there is no claim 'v'");
    CHECK(refusal(asking(number, {{"de", {{"text", {"{0,61|v}"}}}}})) == ".de.text[0]: there is no claim 'v'");
    CHECK(refusal(asking(number, {{"text", {"{0.61|w}"}}, {"claims", {{"w", number}}}}))
              .starts_with(".claims.w: a claim is about the run"));
    json after = cell;
    after["after"] = 1;
    CHECK(refusal(asking(number, {{"text", {"{0.61|w}"}}, {"claims", {{"w", after}}}}))
              .starts_with(".claims.w.after: expected true or an object"));
    after["after"] = {{"masc", 1}};
    CHECK(refusal(asking(number, {{"text", {"{0.61|w}"}}, {"claims", {{"w", after}}}})) ==
          ".claims.w.after.masc: there is no such setting");
  }

  TEST_CASE("claims: the text has what is shown, and the run is asked whether it is true, in every try") {
    json lesson = small_lesson();
    json& card = lesson["cards"][0];
    card["text"] = {"It gives **{0.61|w}** to it: $W_{q}$, {nothing|later}."};
    card["de"] = {{"text", {"Es gibt ihr {0,61|w}, {nichts|later}."}}};
    card["claims"] = {{"w", {{"cell", {{"row", 1}, {"column", 1}}}, {"equals", 0.61}, {"within", 0.005}}},
                      {"later", {{"field", "view.pinned.0"}, {"equals", 2}, {"after", true}}}};
    {
      const LessonFile file(lesson);
      const Lesson read = read_lesson(file.path);
      CHECK(read.cards[0].paragraphs.front() == "It gives **0.61** to it: $W_{q}$, nothing.");
      CHECK(read_lesson(file.path, "de").cards[0].paragraphs.front() == "Es gibt ihr 0,61, nichts.");
      CHECK(check_lesson(read, reference_engine()).empty());
    }
    card["claims"]["w"]["equals"] = 0.62;
    card["claims"]["later"]["equals"] = 3;
    const LessonFile file(lesson);
    const std::vector<std::string> remarks = check_lesson(read_lesson(file.path), reference_engine());
    REQUIRE(remarks.size() == 2);
    CHECK(remarks[0] == "mine.json: card 1, \"One\": claims.later: the run has 2, which isn't what is claimed (3)");
    CHECK(remarks[1].starts_with("mine.json: card 1, \"One\": claims.w: the run has 0.607"));
    card["done"] = {{{"field", "view.pinned.99999999"}, {"equals", 2}}};  // no list is made for it
    const LessonFile far(lesson);
    CHECK(check_lesson(read_lesson(far.path), reference_engine())[0].find(
              "claims.later: \"done\" doesn't say which settings") != std::string::npos);
    card["done"] = small_lesson()["cards"][0]["done"];
    card["claims"]["w"]["equals"] = 0.61;
    card["claims"]["later"] = {{"field", "view.tab"}, {"equals", "steps"}, {"after", {{"view", {{"tab", "steps"}}}}}};
    card["try"] = {{"opens", {json::object(), {{"masks", {{"encoder", {{"rule", "none"}}}}}}}}};
    const LessonFile tried(lesson);
    const std::vector<std::string> of_tries = check_lesson(read_lesson(tried.path), reference_engine());
    REQUIRE(of_tries.size() == 1);  // the first try is right
    CHECK(of_tries[0].starts_with("mine.json: card 1, \"One\": claims.w: the run has "));
  }

  TEST_CASE("a wrong answer is marked, and asked again after three cards and when the lesson is opened next") {
    Player one(numbers_lesson(6));
    one.answer(2);
    CHECK(one.mark(0).wrong == 1);
    one.answer(2);  // confirmed once more: no other answer
    CHECK(one.mark(0).wrong == 1);
    one.answer(1);
    CHECK(one.player.is_card_done());
    CHECK(one.player.has_missed());
    CHECK((one.mark(0) == CardMark{.wrong = 1, .right = 1, .is_due = true}));
    for (const std::size_t card : {1U, 2U, 3U}) {
      one.go_on();
      CHECK(one.player.card_index() == card);
      CHECK_FALSE(one.player.is_repeat());
      one.answer(1);
      CHECK((one.mark(static_cast<std::uint32_t>(card)) == CardMark{.wrong = 0, .right = 1, .is_due = false}));
    }
    one.go_on();
    CHECK(one.player.card_index() == 0);
    CHECK(one.player.is_repeat());
    CHECK_FALSE(one.player.is_card_done());
    one.go_on();  // skipped: it stays due
    CHECK(one.player.card_index() == 4);
    CHECK_FALSE(one.player.is_repeat());
    one.start();
    CHECK(one.player.card_index() == 0);
    CHECK(one.player.is_repeat());
    one.answer(1);
    CHECK_FALSE(one.mark(0).is_due);
    one.go_on();
    CHECK(one.player.card_index() == 4);
    CHECK(one.progress.cards.at("mine") == 4);
    one.start();
    CHECK(one.player.card_index() == 4);
    CHECK_FALSE(one.player.is_repeat());
    one.answer(3);
    one.start(true);  // from the first card, without what is due
    CHECK(one.player.card_index() == 0);
    CHECK_FALSE(one.player.is_repeat());
    CHECK(one.player.go_back(one.state, one.progress) == "");
    CHECK(one.player.lesson() == nullptr);
  }

  TEST_CASE("a card that must be right twice opens with other numbers each time, and a wrong answer begins anew") {
    Player one(numbers_lesson(1, {{"opens", {{"preset", ""}}},
                                  {"check", true},
                                  {"try", {{"seeds", {7, 8, 9}}, {"texts", {"a b", "c d", "e f"}}, {"times", 2}}}}));
    CHECK(one.state.playground().settings.seed == 7);
    CHECK(one.state.text() == "a b");
    const std::uint32_t first = one.player.seed();
    one.answer(1);
    CHECK_FALSE(one.player.is_card_done());
    REQUIRE(one.player.wants_try());
    REQUIRE(one.player.reopen(one.state, one.progress) == "");
    one.observe();
    CHECK(one.player.streak() == 1);
    CHECK(one.player.seed() != first);
    CHECK(one.state.playground().settings.seed == 8);
    CHECK(one.state.text() == "c d");
    one.answer(2);
    CHECK(one.player.streak() == 0);
    one.answer(1);
    REQUIRE(one.player.wants_try());
    CHECK_FALSE(one.progress.completed.contains("mine"));
    REQUIRE(one.player.reopen(one.state, one.progress) == "");
    CHECK(one.state.playground().settings.seed == 7);  // the fourth of three
    one.answer(1);
    CHECK(one.player.is_card_done());
    CHECK(one.progress.completed.contains("mine"));
    CHECK(one.mark(0).is_due);
  }

  TEST_CASE("a lesson is passed once each of its checks is right, whichever way one came to them") {
    json lesson = numbers_lesson(3, {{"check", true}});
    lesson["cards"][1].erase("check");
    Player one(lesson);
    one.go_on();
    one.answer(1);
    one.go_on();
    one.answer(1);
    CHECK_FALSE(one.progress.completed.contains("mine"));
    one.go_on();
    CHECK(one.player.lesson() == nullptr);
    CHECK_FALSE(one.progress.completed.contains("mine"));
    one.start();
    CHECK(one.player.card_index() == 0);
    one.answer(1);
    CHECK(one.progress.completed.contains("mine"));
  }

  TEST_CASE("options are shuffled by the seed: all orders come about, the same one for the same seed") {
    std::set<std::vector<std::size_t>> orders;
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
      const std::vector<std::size_t> order = shuffled(3, seed);
      CHECK(std::ranges::is_permutation(order, std::vector<std::size_t>{0, 1, 2}));
      CHECK(order == shuffled(3, seed));
      orders.insert(order);
    }
    CHECK(orders.size() == 6);
  }

  TEST_CASE("a course: its order, what is next, what comes before, and what a file lacks") {
    const TemporaryDirectory folder;
    const auto write = [&](const std::string& name, const json& value) {
      std::ofstream(folder.path() / name) << value.dump();
    };
    for (const char* name : {"a", "b", "own"}) write(std::string(name) + ".json", small_lesson());
    const json parts = {{{"title", "P"}, {"de", {{"title", "T"}}}, {"lessons", {"b", "gone"}}},
                        {{"title", "Q"}, {"lessons", {"a"}}}};
    write("course.json", {{"headlight_course", 1}, {"parts", parts}});
    const LessonList list = read_lessons({folder.path()}, "de");
    REQUIRE(list.lessons.size() == 3);
    CHECK(list.lessons[0].id == "b");
    CHECK(list.lessons[1].id == "a");
    CHECK(list.lessons[2].id == "own");
    CHECK(list.parts[0].title == "T");
    CHECK(list.parts[1].title == "Q");
    CHECK(list.problems == std::vector<std::string>{"course.json: there is no lesson 'gone'"});
    LessonProgress progress;
    CHECK(list.next(progress) == &list.lessons[0]);
    CHECK(list.before("b") == nullptr);
    CHECK(list.before("a") == &list.lessons[0]);
    CHECK(list.before("own") == nullptr);
    progress.completed = {"b"};
    CHECK(list.next(progress) == &list.lessons[1]);
    progress.completed = {"a", "b"};
    CHECK(list.next(progress) == nullptr);
    const auto refusal = [&](const json& course) {
      write("course.json", course);
      const std::string message = test::error_message([&] { read_course(folder.path() / "course.json"); });
      const std::string name = (folder.path() / "course.json").string() + ": ";
      CHECK(message.starts_with(name));
      return message.substr(std::min(name.size(), message.size()));
    };
    CHECK(refusal(json::object()) == "expected \"headlight_course\" and a list of \"parts\"");
    CHECK(refusal({{"headlight_course", 2}, {"parts", parts}}).starts_with("headlight_course: expected a whole number"));
    CHECK(refusal({{"headlight_course", 1}, {"parts", 1}}) == "parts: expected a list, found 1");
    CHECK(refusal({{"headlight_course", 1}, {"parts", {1}}}) == "parts[0]: expected an object, found 1");
    CHECK(refusal({{"headlight_course", 1}, {"parts", {{{"title", "P"}, {"lesson", {"a"}}}}}}) ==
          "parts[0].lesson: no such member");
    CHECK(refusal({{"headlight_course", 1}, {"parts", {{{"title", "P"}, {"lessons", {1}}}}}})
              .starts_with("parts[0].lessons: expected texts"));
    CHECK(refusal({{"headlight_course", 1}, {"parts", {{{"title", "P"}, {"lessons", {"a", "a"}}}}}}) ==
          "parts[0].lessons: the course has 'a' twice");
  }

  TEST_CASE("results: every answer with its try, read and written, refused by member") {
    Player one(numbers_lesson(2));
    one.answer(2);
    one.answer(1);
    one.go_on();
    one.answer(1);
    LessonResults results{.name = "Ada <b>", .answers = one.player.take_answers()};
    CHECK(one.player.take_answers().empty());
    REQUIRE(results.answers.size() == 3);
    CHECK_FALSE(results.answers[0].is_right);
    CHECK(results.answers[0].answer == 2.0);
    CHECK(results.answers[1].attempt == results.answers[0].attempt);  // one opening of the card
    CHECK(results.answers[2].card == 2);
    for (LessonResults::Answer& answer : results.answers) answer.time = time_of_answer();
    CHECK(results.answers[0].time.size() == std::string("2026-03-01T10:20:30Z").size());
    const TemporaryDirectory folder;
    const std::filesystem::path path = folder.path() / "ada.json";
    write_file_atomically(path, results_text(results));
    const LessonResults again = read_results(path);
    CHECK(results_text(again) == results_text(results));
    const auto refusal = [&](const json& value) {
      std::ofstream(path) << value.dump();
      return test::error_message([&] { read_results(path); }).substr(path.string().size());
    };
    CHECK(refusal(json::object()) == ": no results: there is no member \"headlight_results\"");
    CHECK(refusal({{"headlight_results", 1}, {"nam", "a"}}) == ": nam: no such member");
    CHECK(refusal({{"headlight_results", 1}, {"answers", {1}}}) == ": answers[0]: expected an object, found 1");
    CHECK(refusal({{"headlight_results", 1}, {"answers", {{{"lesson", "a"}, {"card", 0}}}}})
              .starts_with(": answers[0].card: expected a whole number from 1"));
    CHECK(refusal(json::array()).starts_with(": "));
  }
}

}  // namespace lesson_questions_test
