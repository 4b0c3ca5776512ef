// A survey's folder, read for the window: right ones and wrong ones.
#include <doctest/doctest.h>

#include "app/survey/survey_reader.h"
#include "core/error.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"
#include "survey/written_survey.h"

namespace survey_reader_test {

using namespace headlight;
using namespace headlight::app;

TEST_SUITE("cpu") {
  TEST_CASE("heads have their places, and their examples") {
    const TemporaryDirectory folder;
    test::write_small_survey(folder.path(), "model");
    const Survey survey = read_survey(folder.path());
    CHECK(survey.model == "model");
    test::write_small_survey(folder.path(), "models/tiny");
    CHECK(read_survey(folder.path()).model == "models/tiny");  // which isn't there
    std::filesystem::create_directories(folder.path() / "models" / "tiny");
    CHECK(read_survey(folder.path()).model == (folder.path() / "models" / "tiny").string());
    CHECK(survey.texts == 7);
    CHECK(survey.head(0, 1, 1).place == 1);
    CHECK(survey.head(0, 0, 0).place == 4);
    CHECK(survey.head(0, 0, 1).mean == 0.2);
    REQUIRE(survey.head(0, 1, 0).examples.size() == 1);
    CHECK(survey.head(0, 1, 0).examples[0].text == "text 2");
    CHECK(survey.head(0, 1, 0).examples[0].ids == std::vector<std::uint32_t>{5, 6, 7});
  }

  TEST_CASE("a survey of an older version keeps its numbers, by the names that they have today") {
    const TemporaryDirectory folder;
    test::write_small_survey(folder.path(), "model");
    CHECK(read_survey(folder.path()).metrics == std::vector<std::string>{"induction"});
    const std::string version = "\"version\": 2, ";
    std::string text = read_file(folder.path() / "survey.json");
    text.erase(text.find(version), version.size());
    write_file_atomically(folder.path() / "survey.json", text);
    const Survey survey = read_survey(folder.path());
    CHECK(survey.metrics == std::vector<std::string>{"induction_mul"});
    CHECK(survey.head(0, 0, 1).mean == 0.2);
    CHECK(survey.head(0, 1, 0).examples.size() == 1);
  }

  TEST_CASE("what lies about itself is refused with file and line") {
    const auto complaint = [](const std::string& file, const std::string& from, const std::string& to) {
      const TemporaryDirectory folder;
      test::write_small_survey(folder.path(), "model");
      std::string text = read_file(folder.path() / file);
      const std::size_t at = text.rfind(from);
      REQUIRE(at != std::string::npos);
      text.replace(at, from.size(), to);
      write_file_atomically(folder.path() / file, text);
      return test::error_message([&] { read_survey(folder.path()); });
    };
    CHECK(complaint("survey.json", "\"layers\": 2", "\"layers\": 4294967295").find("survey.json: 'layers' is") !=
          std::string::npos);
    CHECK(complaint("survey.json", "\"version\": 2", "\"version\": 3").find("survey.json: it is of version 3") !=
          std::string::npos);
    CHECK(complaint("survey.json", "\"texts\": 7", "\"texts\": \"x\"").find("survey.json: ") != std::string::npos);
    CHECK(complaint("survey.json", "\"texts\": 7", "\"texts\": 1e60").find("survey.json: 'texts' is no count") !=
          std::string::npos);
    CHECK(complaint("survey.json", "\"heads\": 2", "\"heads\": 0").find("survey.json: it has no heads") !=
          std::string::npos);
    CHECK(complaint("survey.json", "\"layers\": 2", "\"layers\": 4000").find("heads.jsonl has fewer lines than") !=
          std::string::npos);
    CHECK(complaint("examples.jsonl", "[5, 6, 7]", "[5, 6, -7]").find("examples.jsonl line 4: 'ids' is no count") !=
          std::string::npos);
    CHECK(complaint("examples.jsonl", "[5, 6, 7]", "[5, 6, 4294967296]").find("'ids' has 4294967296") != std::string::npos);
    CHECK(complaint("survey.json", "[\"induction\"]", "[]").find("no metrics") != std::string::npos);
    CHECK(complaint("heads.jsonl", "\"head\": 1", "\"head\": 2").find("heads.jsonl line 4: 'head' is 2, beyond 2") !=
          std::string::npos);
    CHECK(complaint("heads.jsonl", "\"head\": 1", "\"head\": 0").find("has no line for some heads") != std::string::npos);
    CHECK(complaint("heads.jsonl", "}", "").find("heads.jsonl line 4: ") != std::string::npos);
    CHECK(complaint("heads.jsonl", "induction", "entropy").find("none of survey.json's") != std::string::npos);
    CHECK(complaint("examples.jsonl", "\"query\": 2", "\"query\": 3").find("examples.jsonl line 4: 'query' is 3") !=
          std::string::npos);
    CHECK(complaint("examples.jsonl", "[5, 6, 7]", "[\"x\"]").find("examples.jsonl line 4: ") != std::string::npos);
    const TemporaryDirectory empty;
    CHECK(test::error_message([&] { read_survey(empty.path()); }).find("survey.json") != std::string::npos);
  }
}

}  // namespace survey_reader_test
