// Lessons: their files, what completes a card, and every printed number against the reference.
#include "app/lessons/lesson_player.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "app/engine/run_source.h"
#include "app/quantities/evaluation.h"
#include "app/state/comparison.h"
#include "app/state/state_json.h"
#include "core/error.h"
#include "engine/reference_runner.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace lessons_test {

using namespace headlight;
using namespace headlight::app;
using nlohmann::json;

namespace {

/// The lessons that come along.
LessonList bundled() { return read_lessons({HEADLIGHT_ASSETS_DIR "/lessons"}); }

json small_lesson() {
  return json::parse(R"({"headlight_lesson": 1, "title": "T", "summary": "S", "minutes": 2, "cards": [
    {"title": "One", "text": ["a"], "opens": {"preset": "notebook-003"}, "task": "Pin",
     "done": [{"field": "view.pinned", "equals": [2, 1]}]},
    {"title": "Two", "text": ["b", "c"], "opens": {"view": {"tab": "steps"}}},
    {"title": "Three", "text": ["d"], "opens": {"preset": "", "text": "a b c"}, "task": "Type",
     "done": [{"field": "text", "contains": "d"}]}]})");
}

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

struct LessonFile {
  explicit LessonFile(const json& lesson) : path(folder.path() / "mine.json") { std::ofstream(path) << lesson.dump(); }

  TemporaryDirectory folder;
  std::filesystem::path path;
};

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
  TEST_CASE("the lessons that come along are whole: tasks begin undone, sentences are few") {
    const LessonList list = bundled();
    for (const std::string& problem : list.problems) FAIL_CHECK(problem);
    CHECK(list.lessons.size() == 8);
    for (const Lesson& lesson : list.lessons) {
      CAPTURE(lesson.id);
      CHECK(lesson.minutes > 0);
      State state;
      for (const LessonCard& card : lesson.cards) {
        CAPTURE(card.title);
        open_card(card, state);
        CHECK(is_done(card, state) == card.done.empty());
        // What a card opens counts as trained, so that Reset brings back the model and not something else.
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
      if (lesson.id == "2-notebook-000") CHECK(explained.contains("d_k"));
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
          const double difference = std::abs(double{tile.values[i]} - double{card.numbers->values[i]});
          CAPTURE(i);
          CHECK(difference <= card.numbers->tolerance());
        }
        compared += tile.values.size();
      }
    }
    CHECK(compared > 200);
  }

  TEST_CASE("the losses that the lesson without the mask names are the model's") {
    const LessonList list = bundled();
    const auto lesson = std::ranges::find(list.lessons, "8-without-the-mask", &Lesson::id);
    REQUIRE(lesson != list.lessons.end());
    State state;
    RunSource sources;
    /// Mean surprise at the next token, in nats.
    const auto loss_of_card = [&](std::size_t card) {
      open_card(lesson->cards[card], state);
      const RunSource::Source& source = sources.build(run_inputs(state));
      const ReferenceRun run(inference::PassInputs{
          .network = source.network, .input = *source.input, .masks = state.masks, .interventions = {}});
      const std::vector<std::uint32_t>& ids = source.input->source.ids;
      std::vector<inference::StateRef> states;
      for (std::uint32_t token = 0; token + 1 < ids.size(); ++token) states.push_back({.token = token, .layer = 4});
      const Tensor logits = run.logits(states);
      const std::size_t vocabulary = logits.values.size() / states.size();
      double loss = 0.0;
      for (std::size_t i = 0; i < states.size(); ++i) {
        double sum = 0.0;
        for (std::size_t id = 0; id < vocabulary; ++id) sum += std::exp(double{logits.values[i * vocabulary + id]});
        loss += std::log(sum) - double{logits.values[i * vocabulary + ids[i + 1]]};
      }
      return loss / static_cast<double>(states.size());
    };
    CHECK(std::abs(loss_of_card(0) - 2.42) < 0.005);  // as printed: two decimals
    CHECK(std::abs(loss_of_card(1) - 0.51) < 0.005);
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
      card.done.push_back({.field = field, .test = test, .value = std::move(value)});
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
    CHECK_FALSE(holds("nothing", Test::Differs, 1));
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
    CHECK_FALSE(player.observe(state));
    state.view.pinned = {.query = 2, .key = 1};
    CHECK(player.observe(state));
    CHECK(player.is_card_done());
    CHECK_FALSE(player.observe(state));  // it is told once
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

  TEST_CASE("files that are no lessons are refused in one line that says what and where") {
    CHECK(refusal_of(json::object()) == "no Headlight lesson: it has no member \"headlight_lesson\"");
    CHECK(refusal_of(with("/title", nullptr)) == "cards[0].title: expected a text");
    CHECK(refusal_of(with("/text", "a")) == "cards[0].text: expected a list, found \"a\"");
    CHECK(refusal_of(with("/colour", 1)) == "cards[0].colour: no such member");
    CHECK(refusal_of(with("/opens", {{"masc", 1}})) == "cards[0].opens.masc: there is no such setting");
    CHECK(refusal_of(with("/opens", {{"view", {{"tob", 1}}}})) == "cards[0].opens.view.tob: there is no such setting");
    CHECK(refusal_of(with("/opens", {{"preset", "notebook-7"}})).starts_with("cards[0].opens: unknown preset"));
    CHECK(refusal_of(with("/opens", {{"view", {{"theme", 3}}}})).starts_with("cards[0].opens: view.theme: expected one of"));
    CHECK(refusal_of(with("/done", nullptr)).starts_with("cards[0]: a task needs \"done\""));
    CHECK(refusal_of(with("/done/0/field", "view.pined")) == "cards[0].done[0].field: there is no setting 'view.pined'");
    CHECK(refusal_of(with("/done/0/at_most", 3)).starts_with("cards[0].done[0]: expected one of equals"));
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

}  // namespace lessons_test
