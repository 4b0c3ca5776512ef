// Lessons: their files, what completes a card, and every printed number against the reference.
#include "app/lessons/lesson_player.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "app/engine/run_source.h"
#include "app/lessons/card_runner.h"
#include "app/lessons/observation.h"
#include "app/shapes/quantities/evaluation.h"
#include "app/state/comparison.h"
#include "app/state/state_json.h"
#include "core/error.h"
#include "engine/evaluate.h"
#include "engine/reference_runner.h"
#include "engine/small_lesson.h"

namespace lessons_test {

using namespace headlight;
using namespace headlight::app;
using nlohmann::json;
using test::LessonFile;
using test::small_lesson;

namespace {

/// The lessons that come along.
LessonList bundled() { return read_lessons({HEADLIGHT_ASSETS_DIR "/lessons"}); }

/// Words with two capitals, and sizes such as d_k; names of matrices (W_query) and of keys are none.
std::vector<std::string> abbreviations_in(const std::string& text) {
  std::vector<std::string> found;
  const std::regex word("[A-Za-z_]+");
  for (auto at = std::sregex_iterator(text.begin(), text.end(), word); at != std::sregex_iterator(); ++at) {
    const std::string term = at->str();
    const auto capitals = std::ranges::count_if(term, [](char letter) { return letter >= 'A' && letter <= 'Z'; });
    const bool is_size = term.starts_with("d_");
    if (is_size || (capitals >= 2 && !term.starts_with("W_") && term != "PyTorch")) found.push_back(term);
  }
  return found;
}

/// Is the card done by the state alone? A condition that only a run can meet isn't met.
bool is_done(const LessonCard& card, const State& state, const json& answer = {}) {
  const json settings = to_json(state);
  const EngineResult no_run;
  std::vector<Query> queries;
  const LessonRun run{.state = state, .settings = settings, .result = no_run, .queries = queries, .answer = answer};
  return std::ranges::all_of(card.done, [&](const LessonCondition& condition) { return observe(condition, run).is_met; });
}

/// Observes the state without a run, as a window does before its first.
bool observe(LessonPlayer& player, const State& state) {
  std::vector<Query> queries;
  LessonProgress progress;
  return player.observe(state, EngineResult(), queries, progress);
}

const Observation& observation(std::string_view name) {
  return *std::ranges::find(observations(), name, &Observation::name);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the lessons that come along are whole: tasks begin undone, sentences are few") {
    const LessonList list = bundled();
    for (const std::string& problem : list.problems) FAIL_CHECK(problem);
    const std::vector<std::string> course = lessons_of(list.parts);
    REQUIRE(list.lessons.size() == course.size());  // all of them, in the course's order
    for (std::size_t i = 0; i < course.size(); ++i) CHECK(list.lessons[i].id == course[i]);
    CHECK(list.parts.size() >= 5);
    for (const Lesson& lesson : list.lessons) {
      CAPTURE(lesson.id);
      CHECK(lesson.languages == std::set<std::string>{"de"});
      CHECK(lesson.cards.back().is_check);
    }
    std::set<std::string> views;
    for (const Lesson& lesson : list.lessons) {
      State state;
      for (const LessonCard& card : lesson.cards) {
        open_card(card, state);
        views.insert(state.view.tab);
      }
    }
    CHECK(views == std::set<std::string>{"block", "checkpoints", "head", "heads", "what_if", "lines", "notebook", "patching",
                                         "predictions", "prompts", "steps"});
    for (const Lesson& lesson : list.lessons) {
      CAPTURE(lesson.id);
      CHECK(lesson.minutes > 0);
      State state;
      for (const LessonCard& card : lesson.cards) {
        CAPTURE(card.title);
        open_card(card, state);
        CHECK(is_done(card, state) == card.done.empty());
        // A card's state counts as trained when it is opened, so that Reset brings back the model and not something
        // else.
        const bool opens_model = card.opens.contains("model") && card.opens["model"].contains("path");
        if (opens_model) CHECK(state.masks == trained_masks(state.source));
        for (const std::string& paragraph : card.paragraphs) CHECK(paragraph.size() <= 420);
        CHECK(card.paragraphs.size() <= 3);
      }
    }
  }

  TEST_CASE("every abbreviation of the lessons that come along is explained where it first appears") {
    for (const Lesson& lesson : bundled().lessons) {
      CAPTURE(lesson.id);
      std::set<std::string> explained;
      for (const LessonCard& card : lesson.cards) {
        std::string text = card.title + " ";
        for (const std::string& paragraph : card.paragraphs) text += paragraph + " ";
        for (const std::string& term : abbreviations_in(text)) {
          if (!explained.insert(term).second) continue;
          CAPTURE(term);
          // "GPT-2 (generative …)", "√d_k (d_k is the width …)", "NaN, not a number", "d_model, the width …", "one width
          // (d_k)".
          const std::regex behind(term + "(-[0-9]+)?( is the | \\(|, (not a|the|where) )"), before("\\(" + term + "\\)");
          CHECK((std::regex_search(text, behind) || std::regex_search(text, before)));
        }
      }
      if (lesson.id == "scale") CHECK(explained.contains("d_k"));
    }
    CHECK(abbreviations_in("a GPT-2 of d_model 8 with W_query, not NaN; K") ==
          std::vector<std::string>{"GPT", "d_model", "NaN"});
  }

  TEST_CASE("every printed number of the lessons is the reference's") {
    std::size_t compared = 0;
    for (const Lesson& lesson : bundled().lessons) {
      CAPTURE(lesson.id);
      State state;
      RunSource sources;
      for (const LessonCard& card : lesson.cards) {
        open_card(card, state);
        if (!card.numbers) continue;
        CAPTURE(card.title);
        const RunSource::Source& source = sources.build(run_inputs(state));
        const ReferenceRun run(inference::PassInputs{
            .network = source.network, .input = *source.input, .masks = state.masks, .interventions = {}});
        const attention::Tile tile = evaluate({.run = run}, card.numbers->query);
        REQUIRE(tile.values.size() == card.numbers->values.size());
        for (std::size_t i = 0; i < tile.values.size(); ++i) {
          const double difference = std::abs(double{tile.values[i]} - card.numbers->values[i]);
          CAPTURE(i);
          CHECK(difference <= card.numbers->tolerance());
        }
        compared += tile.values.size();
      }
    }
    CHECK(compared >= 33);  // the other printed numbers are the view Notebook's
  }

  TEST_CASE("a card opens its own source with its own masks, and leaves what it doesn't name") {
    const LessonFile file(small_lesson());
    const Lesson lesson = read_lesson(file.path);
    CHECK(lesson.id == "mine");
    State state;
    state.text() = "typed before";
    state.view.theme = Theme::Light;
    state.gains[{{}, 0}] = 0.0F;
    open_card(lesson.cards[0], state);
    CHECK(notebook_name(state.source) == "notebook-003");
    CHECK(state.masks == trained_masks(state.source));
    CHECK(state.gains.empty());
    CHECK(state.view.theme == Theme::Light);
    CHECK(state.playground().text == "typed before");
    CHECK_FALSE(is_done(lesson.cards[0], state));
    state.view.pinned = {.query = 2, .key = 1};
    CHECK(is_done(lesson.cards[0], state));
    open_card(lesson.cards[1], state);
    CHECK(state.view.tab == "steps");
    CHECK(state.view.pinned.has_value());
    open_card(lesson.cards[2], state);
    CHECK(state.text() == "a b c");
    CHECK(std::holds_alternative<Playground>(state.source));
  }

  TEST_CASE("conditions: numbers, texts, lists and their opposites") {
    State state;
    state.text() = "the cat sat";
    state.gains[{{.layer = LayerIndex{1}}, 4}] = 0.0F;
    const auto holds = [&](const char* field, LessonCondition::Test test, json value) {
      LessonCard card;
      card.done.push_back(
          {.subject = {.observation = &observation("field"), .field = field}, .test = test, .value = std::move(value)});
      return is_done(card, state);
    };
    using Test = LessonCondition::Test;
    CHECK(holds("text", Test::Contains, "cat"));
    CHECK_FALSE(holds("text", Test::Contains, "dog"));
    CHECK(holds("text", Test::Differs, "dog"));
    CHECK(holds("playground.heads", Test::AtLeast, state.playground().settings.heads));
    CHECK_FALSE(holds("playground.heads", Test::AtLeast, state.playground().settings.heads + 1));
    CHECK(holds("playground.heads", Test::AtMost, state.playground().settings.heads));
    CHECK_FALSE(holds("playground.heads", Test::AtMost, state.playground().settings.heads - 1));
    CHECK(holds("gains", Test::Contains, {{"layer", 1}, {"head", 4}}));
    CHECK_FALSE(holds("gains", Test::Contains, {{"layer", 1}, {"head", 5}}));
    CHECK_FALSE(holds("gains.layer", Test::Equals, 1));
    CHECK(holds("gains.0.layer", Test::Equals, 1));
    CHECK_FALSE(holds("gains.1.layer", Test::Equals, 1));
    CHECK_FALSE(holds("gains.99999999999999999999.layer", Test::Differs, 1));
    CHECK_FALSE(holds("view.pinned.0", Test::Differs, 7));  // nothing is pinned
    state.view.pinned = {.query = 3, .key = 2};
    CHECK(holds("view.pinned.0", Test::Equals, 3));
    CHECK_FALSE(holds("view.pinned.1", Test::Equals, 3));
    CHECK_FALSE(holds("nothing", Test::Differs, 1));
  }

  TEST_CASE("questions: right answers, wrong ones with their hint, and answers that the run knows") {
    json lesson = small_lesson();
    lesson["cards"][0]["done"] = {{{"choice", {"a", "b"}}, {"equals", 1}, {"hint", "Not a."}},
                                  {{"number", "p"}, {"equals", 0.5}, {"within", 0.01}, {"hint", "Halve it."}},
                                  {{"click", "map"}, {"equals", {2, 1}}, {"hint", "One row down."}}};
    lesson["cards"][1]["task"] = "Largest?";
    lesson["cards"][1]["done"] = {{{"number", "key"}, {"equals", {{"largest_key", {{"row", 2}}}}}, {"hint", "Brighter."}}};
    lesson["cards"][1]["reveal"] = {"Because."};
    const LessonFile file(lesson);
    LessonPlayer player(read_lessons({file.folder.path()}));
    LessonProgress progress;
    State state;
    REQUIRE(player.start(0, true, state, progress) == "");
    const auto is_wrong = [&](std::size_t condition) {
      observe(player, state);
      return player.standings()[condition].is_answered_wrong();
    };
    for (std::size_t i = 0; i < 3; ++i) CHECK_FALSE(is_wrong(i));
    player.answer(0, 0U);
    CHECK(is_wrong(0));
    player.answer(1, 0.52);
    CHECK(is_wrong(1));
    state.view.pinned = {.query = 1, .key = 2};
    CHECK(is_wrong(2));
    player.answer(0, 1U);
    CHECK_FALSE(is_wrong(0));
    player.answer(1, 0.505);
    CHECK_FALSE(is_wrong(1));
    CHECK_FALSE(player.is_card_done());
    state.view.pinned = {.query = 2, .key = 1};
    CHECK_FALSE(is_wrong(2));
    CHECK(player.is_card_done());
    REQUIRE(player.go_on(state, progress) == "");
    player.answer(0, 1.0);
    observe(player, state);
    CHECK_FALSE(player.is_card_done());  // no run has told what is right
    CHECK(player.aim() == Aim{});
  }

  TEST_CASE("a lesson has its texts in the language that is asked for, and its own where it hasn't") {
    json lesson = small_lesson();
    lesson["de"] = {{"title", "Titel"}};
    lesson["cards"][0]["de"] = {{"title", "Eins"}, {"text", {"ein"}}};
    lesson["cards"][0]["done"] = {
        {{"choice", {"a", "b"}}, {"equals", 1}, {"hint", "Not a."}, {"de", {{"choice", {"x", "y"}}, {"hint", "Nicht a."}}}}};
    const LessonFile file(lesson);
    const Lesson own = read_lesson(file.path), german = read_lesson(file.path, "de"), french = read_lesson(file.path, "fr");
    CHECK(own.languages == std::set<std::string>{"de"});
    CHECK(own.title == "T");
    CHECK(german.title == "Titel");
    CHECK(german.cards[0].title == "Eins");
    CHECK(german.cards[0].task == "Pin");
    CHECK(german.cards[0].done[0].subject.choices == std::vector<std::string>{"x", "y"});
    CHECK(german.cards[0].done[0].hint == "Nicht a.");
    CHECK(german.cards[1].title == "Two");
    CHECK(french.title == "T");
    CHECK(own.cards[0].done[0].hint == "Not a.");
  }

  TEST_CASE("a file that changes is read again: its texts at once, its state where it opens another one") {
    json lesson = small_lesson();
    const LessonFile file(lesson);
    LessonPlayer player(read_lessons({file.folder.path()}));
    LessonProgress progress;
    State state;
    std::string trouble;
    REQUIRE(player.start(0, true, state, progress) == "");
    CHECK_FALSE(player.reload(state, trouble));
    auto written = std::filesystem::last_write_time(file.path);
    const auto rewrite = [&](const std::string& text) {
      std::ofstream(file.path) << text;
      std::filesystem::last_write_time(file.path, written += std::chrono::seconds(1));
    };
    state.view.tab = "lines";  // the user's
    lesson["cards"][0]["title"] = "Uno";
    rewrite(lesson.dump());
    CHECK(player.reload(state, trouble));
    CHECK(trouble.empty());
    CHECK(player.card().title == "Uno");
    CHECK(state.view.tab == "lines");
    rewrite("{");
    CHECK(player.reload(state, trouble));
    CHECK(trouble.find("mine.json") != std::string::npos);
    CHECK(player.card().title == "Uno");
    trouble.clear();
    CHECK_FALSE(player.reload(state, trouble));  // it is told once
    lesson["cards"][0]["opens"]["view"]["tab"] = "steps";
    rewrite(lesson.dump());
    CHECK(player.reload(state, trouble));
    CHECK(trouble.empty());
    CHECK(state.view.tab == "steps");
    player.choose_language("de");
    CHECK(player.reload(state, trouble));
  }

  TEST_CASE("a lesson is played, left, gone on with and completed") {
    const LessonFile file(small_lesson());
    LessonPlayer player(read_lessons({file.folder.path()}));
    LessonProgress progress;
    State state;
    state.compare.baseline = make_baseline(state);
    CHECK_FALSE(player.is_open());
    player.open_list();
    CHECK(player.is_open());
    CHECK(player.lesson() == nullptr);
    CHECK(player.start(0, false, state, progress) == "");
    CHECK(player.card_index() == 0);
    CHECK_FALSE(state.compare.baseline);  // the baseline before has nothing to do with the lesson
    state.compare.baseline = make_baseline(state);
    CHECK_FALSE(observe(player, state));
    state.view.pinned = {.query = 2, .key = 1};
    CHECK(observe(player, state));
    CHECK(player.is_card_done());
    CHECK_FALSE(observe(player, state));  // it is told once
    CHECK(player.go_on(state, progress) == "");
    CHECK(player.is_card_done());  // nothing to do
    CHECK(progress.cards.at("mine") == 1);
    player.close();
    CHECK(player.start(0, false, state, progress) == "");
    CHECK(state.compare.baseline);  // the lesson goes on as it was left
    CHECK(player.card_index() == 1);
    CHECK(player.go_back(state, progress) == "");
    CHECK(player.card_index() == 0);
    CHECK(notebook_name(state.source) == "notebook-003");
    for (int i = 0; i < 3; ++i) CHECK(player.go_on(state, progress) == "");
    CHECK(player.lesson() == nullptr);
    CHECK(progress.completed.contains("mine"));
    CHECK(player.start(0, false, state, progress) == "");
    CHECK(player.card_index() == 0);
  }

  TEST_CASE("a card points at its control until its task is completed; one that is only read keeps pointing") {
    json lesson = small_lesson();
    lesson["cards"][0]["control"] = "mask.causal";
    lesson["cards"][1]["control"] = "mask.fill";
    const LessonFile file(lesson);
    LessonPlayer player(read_lessons({file.folder.path()}));
    LessonProgress progress;
    State state;
    CHECK(player.aim() == Aim{});
    REQUIRE(player.start(0, false, state, progress) == "");
    CHECK(player.aim().control == "mask.causal");
    state.view.pinned = {.query = 2, .key = 1};
    REQUIRE(observe(player, state));
    CHECK(player.aim().control.empty());
    REQUIRE(player.go_on(state, progress) == "");
    CHECK(player.aim().control == "mask.fill");
  }
}

}  // namespace lessons_test
