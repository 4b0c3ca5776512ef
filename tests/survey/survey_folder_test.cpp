// A survey's folder, read for the window: right ones and wrong ones.
#include <doctest/doctest.h>

#include "app/data/survey/survey_files.h"
#include "app/data/survey/survey_folder.h"
#include "core/error.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"
#include "survey/written_survey.h"

namespace survey_folder_test {

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
    CHECK(read_survey(folder.path() / "survey.json").texts == 7);  // the file in the folder is the same survey
    CHECK(survey.texts == 7);
    CHECK(survey.head(0, 3).place == 1);
    CHECK(survey.head(0, 0).place == 4);
    CHECK(survey.head(0, 1).mean == 0.2);
    REQUIRE(survey.head(0, 2).examples.size() == 1);
    CHECK(survey.head(0, 2).examples[0].text == "text 2");
    CHECK(survey.head(0, 2).examples[0].ids == std::vector<std::uint32_t>{5, 6, 7});
  }

  TEST_CASE("an id that the vocabulary lacks is named as such") {
    OpenedSurvey opened;
    opened.model = inference::open_model(std::string(HEADLIGHT_GOLDEN_DIR) + "/models/gpt2");
    const evaluation::CorpusStatistics none(evaluation::CorpusMeasures{});
    const SurveyResults results{.survey = opened, .statistics = none};
    const std::size_t count = opened.model->tokenizer->vocabulary_size();
    CHECK(results.token(count - 1, false).find("vocabulary") == std::string::npos);
    CHECK(results.token(count, false) == fmt::format("{} (not in this vocabulary)", count));
  }

  TEST_CASE("patterns of own metrics are read, and refused where they are none") {
    const TemporaryDirectory folder;
    const auto with = [&](const char* patterns) {
      test::write_small_survey(folder.path(), "model");
      std::string text = read_file(folder.path() / "survey.json");
      write_file_atomically(folder.path() / "survey.json", text.insert(1, std::string(patterns) + ", "));
      return test::error_message([&] { read_survey(folder.path()); });
    };
    CHECK(with(R"("patterns": {"two-back": "k == q - 2"})").empty());
    CHECK(read_survey(folder.path()).patterns.at("two-back") == "k == q - 2");
    CHECK(with(R"("patterns": {"two-back": "k == p"})").find("survey.json: metric 'two-back': ") != std::string::npos);
    CHECK(with(R"("patterns": {"two-back": 2})").find("survey.json") != std::string::npos);
    CHECK(with(R"("patterns": [])").find("survey.json") != std::string::npos);
  }

  TEST_CASE("columns are the heads' numbers, and planes where heads differ") {
    const TemporaryDirectory folder;
    test::write_small_survey(folder.path(), "model");
    const Survey older = read_survey(folder.path());
    CHECK(older.head(0, 3).histogram == std::vector<float>{4.0F, 2.0F, 1.0F});
    CHECK(older.head(0, 3).top == 1.5);
    CHECK(older.head(0, 3).samples.empty());
    CHECK(older.attention[3].map.empty());
    std::vector<std::string> names;
    for (const SurveyColumn& column : older.columns) names.push_back(column.name);
    CHECK(names == std::vector<std::string>{"induction", "layer", "metrics, axis 1", "metrics, axis 2"});
    CHECK(older.column("induction", 1).values == std::vector<double>{0.1, 0.2, 0.3, 0.4});
    CHECK(older.column("nothing", 1).name == "layer");
    CHECK(older.name(3) == "L1H1");
    CHECK(older.find("L1H0") == 2);
    CHECK(older.find("l0h1") == 1);
    for (const char* name : {"L1H2", "L2H0", "L1", "L1H", "H1", "", "L1H0 ", "L-1H0", "x1H0"}) CHECK(older.find(name) == 4);
    test::write_attention(folder.path());
    const Survey survey = read_survey(folder.path());
    REQUIRE(survey.head(0, 2).samples.size() == 10);
    CHECK(survey.head(0, 2).samples[9].decile == 10);
    CHECK(survey.head(0, 2).samples[9].text == "tenth 10");
    CHECK(survey.head(0, 2).examples[0].decile == 0);
    const HeadAttention& head = survey.attention[3];
    CHECK(head.queries == 20);
    CHECK(head.pairs[0].query + " " + head.pairs[0].key == "dog cat");
    CHECK(head.query_tokens[0].query == "dog");
    CHECK(head.key_tokens[0].key == "cat");
    CHECK(head.map.size() == 32 * 32);
    CHECK(survey.attention[0].distances[0] == 1.0F);
    CHECK(survey.column("self", 0).values == std::vector<double>{0.1, 0.2, 0.3, 0.4});
    // Three heads attend to the first token and one to itself: by their maps it is alone, at Hellinger's distance.
    const std::vector<double>& across = survey.column("mean maps, axis 1", 0).values;
    CHECK(across[0] == doctest::Approx(across[1]));
    CHECK(across[3] - across[0] == doctest::Approx(std::sqrt(2.0 * 7.0)));  // seven rows of eight differ
    CHECK(bin_name(0) == "0");
    CHECK(bin_name(32) == "32");
    CHECK(bin_name(33) == "33\u201364");
    CHECK(bin_name(42) == "16385\u201332768");
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
    CHECK(survey.head(0, 1).mean == 0.2);
    CHECK(survey.head(0, 2).examples.size() == 1);
  }

  TEST_CASE("what lies about itself is refused with file and line") {
    const auto complaint = [](const std::string& file, const std::string& from, const std::string& to) {
      const TemporaryDirectory folder;
      test::write_small_survey(folder.path(), "model");
      test::write_attention(folder.path());
      std::string text = read_file(folder.path() / file);
      const std::size_t at = text.rfind(from);
      REQUIRE(at != std::string::npos);
      text.replace(at, from.size(), to);
      write_file_atomically(folder.path() / file, text);
      return test::error_message([&] { read_survey(folder.path()); });
    };
    CHECK(complaint("survey.json", "\"layers\": 2", "\"layers\": 4294967295").find("survey.json: 'layers' is") !=
          std::string::npos);
    CHECK(complaint("survey.json", "\"version\": 2", "\"version\": 4").find("survey.json: it is of version 4") !=
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
    CHECK(complaint("heads.jsonl", "\"mean\": 0.4", "\"mean\": 1e999").find("heads.jsonl line 4: ") != std::string::npos);
    CHECK(complaint("heads.jsonl", "\"mean\": 0.4", "\"mean\": 1e300").find("'mean' is no finite number") !=
          std::string::npos);
    CHECK(complaint("heads.jsonl", "_top\": 1.5", "_top\": 0").find("'histogram_top' is 0") != std::string::npos);
    CHECK(complaint("heads.jsonl", "[4, 2, 1]", "[4, -2, 1]").find("'histogram' is no count") != std::string::npos);
    CHECK(complaint("samples.jsonl", "\"decile\": 9", "\"decile\": 10").find("samples.jsonl line 40: 'decile' is 10") !=
          std::string::npos);
    CHECK(complaint("samples.jsonl", "tenth", "te\xffth").find("samples.jsonl line 40: ") != std::string::npos);
    CHECK(complaint("tokens.jsonl", "\"mass\": 1.5", "\"mass\": \"x\"").find("tokens.jsonl line 4: ") != std::string::npos);
    CHECK(complaint("tokens.jsonl", "\"layer\": 1", "\"layer\": 9").find("tokens.jsonl line 4: 'layer' is 9") !=
          std::string::npos);
    CHECK(complaint("map.npy", "(2, 2, 32, 32)", "(2, 2, 32, 16)").find("map.npy: it holds <f4 of ") != std::string::npos);
    CHECK(complaint("relative.npy", "<f4", "<i4").find("relative.npy: it holds <i4") != std::string::npos);
    CHECK(complaint("distance.npy", std::string(4, '\0'), std::string("\0\0\x80\xbf", 4)).find("below 0 or above 1") !=
          std::string::npos);
    CHECK(complaint("positions.npy", "NUMPY", "NUMBY").find("positions.npy: ") != std::string::npos);
    const TemporaryDirectory empty;
    CHECK(test::error_message([&] { read_survey(empty.path()); }).find("survey.json") != std::string::npos);
  }
}

}  // namespace survey_folder_test
