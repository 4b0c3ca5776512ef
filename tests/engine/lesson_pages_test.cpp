// Lessons as pages, sheets of paper and a class's results: what their data say. A browser plays them in tests/cli.
#include <doctest/doctest.h>

#include <fstream>
#include <regex>

#include "app/lessons/lesson_page.h"
#include "app/lessons/observation.h"
#include "core/file.h"
#include "engine/small_lesson.h"
#include "support/error_message.h"

namespace lesson_pages_test {

using namespace headlight;
using namespace headlight::app;
using nlohmann::json;
using test::LessonFile;
using test::reference_engine;
using test::small_lesson;

namespace {

json data_of(const std::string& page) {
  const std::string begin = "<script id=\"data\" type=\"application/json\">";
  const std::size_t from = page.find(begin);
  REQUIRE(from != std::string::npos);
  return json::parse(page.substr(from + begin.size(), page.find("</script>", from) - from - begin.size()));
}

json asked(const json& done) {
  json lesson = small_lesson();
  lesson["cards"] = json::array({lesson["cards"][0]});
  lesson["cards"][0]["done"] = done;
  return lesson;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a lesson's page has each card's map, questions with the run's answers, and says what only the window can ask") {
    json lesson =
        asked({{{"click", "map"}, {"equals", {2, 1}}, {"hint", "h"}},
               {{"choice", {"a", "b"}}, {"equals", {{"largest_key", {{"row", 1}}}}}, {"hint", "h"}},
               {{"number", "n"}, {"equals", {{"cell", {{"row", 1}, {"column", 0}}}}}, {"within", 0.01}, {"hint", "h"}}});
    lesson["cards"].push_back(small_lesson()["cards"][0]);
    lesson["cards"][1]["numbers"] = {{"source", "s"}, {"quantity", "weights"}, {"row", 1}, {"values", {{0.3924, 0.6076}}}};
    lesson["cards"].push_back(small_lesson()["cards"][1]);
    const LessonFile file(lesson);
    const std::string page = lesson_page(read_lesson(file.path), reference_engine(), LessonMedium::Screen);
    CHECK(page == lesson_page(read_lesson(file.path), reference_engine(), LessonMedium::Screen));
    const json data = data_of(page), &card = data["cards"][0];
    CHECK(card["isLive"] == false);
    REQUIRE(card["questions"].size() == 3);
    CHECK(card["questions"][0]["right"] == json({2, 1}));
    CHECK(card["questions"][1]["right"] == 1);
    const json& map = card["maps"][0];
    CHECK(map["rows"] == json({"The", "cat", "sat", "on", "the", "mat."}));
    CHECK(map["values"].size() == 36);
    CHECK(card["questions"][2]["right"] == map["values"][6]);
    CHECK(map["masked"][1] == 1);
    CHECK(map["masked"][6] == 0);
    CHECK(data["cards"][1]["isLive"] == true);  // waits for a setting of the window
    CHECK(data["cards"][1]["numbers"]["values"].size() == 2);
    CHECK(data["cards"][1]["numbers"]["verdict"].get<std::string>().find("agree") != std::string::npos);
    CHECK(data["cards"][2]["maps"][0]["title"] == "attention weights");  // beside the view Steps
  }

  TEST_CASE("a page has nothing from elsewhere, and no text of a lesson leaves its place") {
    json lesson = small_lesson();
    const std::string hostile = "</script><script>alert(1)</script><!-- \" ' & {{SCRIPT}} \x01 https://example.org/x.js";
    lesson["title"] = lesson["summary"] = lesson["cards"][0]["title"] = hostile;
    lesson["cards"][0]["text"] = {hostile};
    lesson["cards"][2]["opens"]["text"] = "a </script> b";
    const LessonFile file(lesson);
    for (const LessonMedium medium : {LessonMedium::Screen, LessonMedium::Paper}) {
      const std::string page = lesson_page(read_lesson(file.path), reference_engine(), medium);
      const json data = data_of(page);
      CHECK(data["cards"][0]["text"][0] == hostile);
      CHECK(page.find("<script>alert") == std::string::npos);
      CHECK(page.find("const WORDS") == page.rfind("const WORDS"));
      std::size_t scripts = 0;
      for (std::size_t at = page.find("</script>"); at != std::string::npos; at = page.find("</script>", at + 1)) ++scripts;
      CHECK(scripts == 2);
      CHECK(page.find("default-src 'none'") != std::string::npos);
      // What a browser would load: none of it is there.
      const std::regex loads("(<link|<iframe|<object|<img|@import|url\\(|src=|href=)", std::regex::icase);
      std::string markup = page;
      for (std::size_t from = markup.find("<script"); from != std::string::npos; from = markup.find("<script")) {
        markup.erase(from, markup.find("</script>", from) + 9 - from);
      }
      CHECK_FALSE(std::regex_search(markup, loads));
    }
  }

  TEST_CASE("a page is in the language that is asked for") {
    json lesson = small_lesson();
    lesson["de"] = {{"title", "Titel"}};
    const LessonFile file(lesson);
    const std::string german = lesson_page(read_lesson(file.path, "de"), reference_engine(), LessonMedium::Paper);
    CHECK(german.find("<html lang=\"de\" data-theme=\"auto\" data-kind=\"worksheet\">") != std::string::npos);
    CHECK(german.find("<title>Titel</title>") != std::string::npos);
    const std::string own = lesson_page(read_lesson(file.path, "fr"), reference_engine(), LessonMedium::Screen);
    CHECK(own.find("<html lang=\"en\" data-theme=\"auto\" data-kind=\"lesson\">") != std::string::npos);
  }

  TEST_CASE("questions of other kinds are the page's where it can ask them") {
    const LessonFile file(asked({{{"choice", {"a", "b"}}, {"equals", 1}, {"hint", "h"}}}));
    Lesson lesson = read_lesson(file.path);
    const auto given = [](const char* name) {
      Observation observation{};
      observation.name = name;
      observation.is_answer = true;
      observation.value = [](const LessonSubject& /*subject*/, const LessonRun& /*run*/) { return json(); };
      return observation;
    };
    const Observation order = given("order"), explain = given("explain"), row = given("row_by_hand"),
                      arrows = given("arrows");
    const auto condition = [](const Observation& observation) {
      LessonCondition made;
      made.subject.observation = &observation;
      return made;
    };
    lesson.cards[0].done = {condition(order), condition(explain), condition(row)};
    lesson.cards[0].done[0].subject.choices = {"first", "second"};
    lesson.cards[0].done[1].subject.answer = {"so"};
    lesson.cards[0].done[2].value = {0.25, 0.75};
    lesson.cards[0].done[2].subject.row = 1;
    const json all = data_of(lesson_page(lesson, reference_engine(), LessonMedium::Screen))["cards"][0];
    CHECK(all["isLive"] == false);
    CHECK(all["questions"][0]["options"] == json({"first", "second"}));
    CHECK(all["questions"][1]["answer"] == json({"so"}));
    CHECK(all["questions"][2]["fields"] == json({"The", "cat"}));
    lesson.cards[0].done = {condition(arrows)};
    CHECK(data_of(lesson_page(lesson, reference_engine(), LessonMedium::Screen))["cards"][0]["isLive"] == true);
  }

  TEST_CASE("results of a class are data of a page; what isn't such a file is one line") {
    const TemporaryDirectory folder;
    const auto write = [&](const char* name, const json& content) {
      std::ofstream(folder.path() / name) << content.dump();
      return folder.path() / name;
    };
    const json answer = {{"lesson", "masks"}, {"card", 2},     {"condition", 0}, {"try", 0},
                         {"seed", 1},         {"right", true}, {"answer", 1},    {"time", "2026-01-01T00:00:00Z"}};
    const std::vector<std::filesystem::path> files = {
        write("anna.json", {{"headlight_results", 1}, {"answers", {answer}}}),
        write("ben.json", {{"headlight_results", 1}, {"name", "<b>Ben</b>"}, {"answers", json::array()}})};
    LessonList lessons;
    lessons.lessons.push_back(read_lesson(LessonFile(small_lesson()).path));
    lessons.lessons.front().id = "masks";
    const json data = data_of(results_page(files, lessons));
    CHECK(data["files"][0] ==
          json({{"name", "anna"}, {"answers", {{{"lesson", "masks"}, {"card", 2}, {"condition", 0}, {"right", true}}}}}));
    CHECK(data["files"][1]["name"] == "<b>Ben</b>");
    CHECK(data["titles"] == json({{"masks", "T"}}));
    const std::vector<std::filesystem::path> odd = {write("x.json", json::array())};
    CHECK(test::error_message([&] { results_page(odd, lessons); }).starts_with((folder.path() / "x.json").string() + ": "));
  }
}

}  // namespace lesson_pages_test
