// Lessons in the window: each is played to its end by mouse and keyboard, and what it claims is measured.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/shapes/quantities/evaluation.h"
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
Deed fills(const std::string& field, const std::string& text) {
  return [field, text](UiDriver& ui) { ui.fill_in(field, text); };
}
/// Types into a number that is dragged, or typed after a double click.
Deed sets(const std::string& number, const std::string& text) {
  return [number, text](UiDriver& ui) {
    ui.click(number);
    ui.click(number);
    ui.press(Key::A, kControl);
    ui.type(text);
    ui.press(Key::Enter);
  };
}
Deed types(const std::string& text) { return fills("text.edit", text); }
Deed all(std::vector<Deed> deeds) {
  return [deeds = std::move(deeds)](UiDriver& ui) {
    for (const Deed& deed : deeds) deed(ui);
  };
}
Deed chooses(const std::string& list, const std::string& entry) {
  return [list, entry](UiDriver& ui) {
    ui.click(list);
    ui.click(entry);
  };
}
Deed slides(const std::string& slider) {
  return [slider](UiDriver& ui) { ui.click_within(slider, 0.5F, 0.5F); };
}
/// Moves through layers and heads.
Deed moves(int layers, int heads) {
  return [layers, heads](UiDriver& ui) {
    for (int i = 0; i < std::abs(layers); ++i) ui.press(layers > 0 ? Key::Down : Key::Up);
    for (int i = 0; i < std::abs(heads); ++i) ui.press(heads > 0 ? Key::Right : Key::Left);
  };
}

/// Deeds of a user that meet the conditions of a card that aren't questions, and similar ones that must not complete
/// it.
struct Play {
  Deed right, wrong;
};

/// The cards with such conditions by lesson, in their order. Answers to questions, right and wrong, follow from the
/// conditions themselves.
const std::map<std::string, std::vector<Play>>& plays() {
  static const std::map<std::string, std::vector<Play>> kPlays = {
      {"1-what-a-query-is",
       {{types("A cat runs through the grass."), types("A hat runs through the grass.")},
        {pins(3, 2), pins(3, 0)},
        {presses(Key::Digit2), presses(Key::Digit4)},
        {presses(Key::Down), presses(Key::Right)}}},
      {"2-notebook-000", {{clicks("mask.fill.0"), clicks("mask.fill.2")}, {clicks("mask.fill.1"), clicks("mask.fill.2")}}},
      {"3-notebook-001",
       {{presses(Key::C), presses(Key::P)},
        {presses(Key::Right, 3), presses(Key::Right, 2)},
        {clicks("text.cross"), presses(Key::C)}}},
      {"4-notebook-002",
       {{presses(Key::P), presses(Key::C)},
        {types("Ein Mann spielt im Schnee."), types("Ein Hund spielt.")},
        {chooses("head.mean", "head.mean.layer"), chooses("head.mean", "head.mean.kind")}}},
      {"5-notebook-003", {{chooses("model.merge", "model.merge.1"), clicks("model.bias")}}},
      {"6-notebook-004", {{pins(1, 1), pins(2, 1)}, {presses(Key::Right, 2), presses(Key::Right)}}},
      {"7-finding-induction",
       {{clicks("heads.row.L0 H5"), clicks("heads.row.L0 H4")},
        {moves(1, -1), moves(1, 0)},
        {pins(12, 3), pins(10, 0)},
        {presses(Key::K), moves(0, 1)},
        {clicks("change.all"), presses(Key::Right)}}},
      {"8-without-the-mask",
       {{presses(Key::C), presses(Key::P)},
        {presses(Key::Digit1), presses(Key::Digit2)},
        {presses(Key::C), presses(Key::P)},
        {slides("mask.window"), presses(Key::P)}}},
      {"9-embeddings-and-positions", {{clicks("model.positions"), clicks("model.bias")}}},
      {"10-why-the-root",
       {{fills("model.d_k", "64"), fills("model.d_k", "16")}, {clicks("model.scale.0"), clicks("model.scale.2")}}},
      {"11-residual-norm-feed-forward", {{clicks("block.weights"), clicks("block.q")}}},
      {"12-reshape-into-heads", {{presses(Key::Right, 3), presses(Key::Right, 2)}}},
      {"13-dropout",
       {{fills("mask.dropout_seed", "4"), fills("mask.dropout_seed", "3")},
        {sets("mask.dropout", "0.1"), sets("mask.dropout", "0.2")}}},
      {"14-generation", {{clicks("generate.start"), types("A man in a red car")}}},
      {"15-alignment", {{presses(Key::Digit5), presses(Key::Digit2)}}},
      {"16-rotary-positions", {}},
      {"17-attention-sinks",
       {{clicks("heads.row.L1 H0"), clicks("heads.row.L1 H4")},
        {presses(Key::K), moves(0, 1)},
        {presses(Key::K), all({moves(0, 1), presses(Key::K)})}}},
      {"18-from-text-to-probability", {{presses(Key::W), presses(Key::L)}, {presses(Key::K), moves(0, 1)}}},
      {"19-task-of-notebook-001",
       {{all({fills("model.d_model", "16"), fills("model.heads", "4"), clicks("model.output_projection")}),
         all({fills("model.d_model", "16"), clicks("model.output_projection")})},
        {presses(Key::C), presses(Key::P)},
        {clicks("text.cross"), presses(Key::C)}}},
  };
  return kPlays;
}

/// Answers a question of the open card by mouse and keyboard.
void answer(UiDriver& ui, std::size_t condition, const nlohmann::json& value) {
  const std::string_view name = ui.window().lessons().card().done[condition].subject.observation->name;
  if (name == "choice") {
    ui.click(fmt::format("lesson.choice.{}.{}", condition, value.get<std::size_t>()));
  } else if (name == "number") {
    ui.fill_in(fmt::format("lesson.number.{}", condition), fmt::format("{:.6f}", value.get<double>()));
    ui.click(fmt::format("lesson.check.{}", condition));
  } else {
    ui.click_cell(value.at(0).get<std::uint32_t>(), value.at(1).get<std::uint32_t>());
  }
}

/// Every other choice, a number a little too far away, the cell beside.
std::vector<nlohmann::json> wrong_answers(const LessonCondition& condition, const nlohmann::json& right) {
  std::vector<nlohmann::json> wrong;
  for (std::size_t i = 0; i < condition.subject.choices.size(); ++i) {
    if (right != i) wrong.emplace_back(i);
  }
  if (condition.subject.observation->name == "number") {
    const double away = 1.5 * condition.within + 0.001;
    wrong = {right.get<double>() + away, right.get<double>() - away};
  }
  if (condition.subject.observation->name == "click") {
    const auto row = right.at(0).get<std::uint32_t>();
    wrong = {{row > 0 ? row - 1 : row + 1, right.at(1)}};
  }
  return wrong;
}

/// Does wrong things and then right ones, until the card's task is done.
void play_card(UiDriver& ui, const Play* play) {
  const LessonPlayer& player = ui.window().lessons();
  const LessonCard& card = player.card();
  const State opened = ui.state();
  CHECK(ui.sees("lesson.task"));
  for (std::size_t i = 0; i < card.done.size(); ++i) {
    if (!card.done[i].subject.observation->is_answer) continue;
    for (const nlohmann::json& wrong : wrong_answers(card.done[i], player.standings()[i].observed.wanted)) {
      CAPTURE(wrong.dump());
      answer(ui, i, wrong);
      CHECK(ui.sees("lesson.hint"));
      REQUIRE_FALSE(ui.sees("lesson.task.done"));
    }
  }
  if (play) {
    play->wrong(ui);
    CHECK(ui.state() != opened);
    REQUIRE_FALSE(ui.sees("lesson.task.done"));
  }
  ui.click("lesson.again");
  REQUIRE_FALSE(ui.sees("lesson.task.done"));
  if (play) play->right(ui);
  for (std::size_t i = 0; i < card.done.size(); ++i) {
    if (card.done[i].subject.observation->is_answer) answer(ui, i, nlohmann::json(player.standings()[i].observed.wanted));
  }
  std::string observed;
  for (const ConditionStanding& standing : player.standings()) {
    observed += fmt::format("{} for {}; ", standing.observed.value.dump(), standing.observed.wanted.dump());
  }
  CAPTURE(observed);
  REQUIRE(ui.sees("lesson.task.done"));
}

/// Weight of a cell of the selected head in the run on screen.
float weight(const UiDriver& ui, std::uint32_t query, std::uint32_t key) { return weights(ui).at(query, key); }

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("every lesson is played to its end: what is right completes a card, what is wrong doesn't") {
    UiDriver ui(State{}, open_gpu_runner);  // the reference leaves gains out of predictions
    ui.resize(1600, 2400);                  // all sections of the sidebar are in sight
    for (const auto& lesson : plays()) {
      const std::string id = lesson.first;
      CAPTURE(id);
      start_lesson(ui, id);
      std::size_t next_play = 0;
      while (ui.window().lessons().lesson()) {
        const LessonCard& card = ui.window().lessons().card();
        const std::string title = card.title;
        const std::string notice = ui.window().notice().text;
        CAPTURE(title);
        CAPTURE(notice);
        if (!card.control.empty()) CHECK(ui.sees(card.control));
        if (card.numbers && !card.conceals) CHECK(ui.sees("lesson.numbers.agree"));
        const bool needs_play = std::ranges::any_of(
            card.done, [](const LessonCondition& condition) { return !condition.subject.observation->is_answer; });
        if (needs_play) REQUIRE(next_play < lesson.second.size());
        if (!card.done.empty()) play_card(ui, needs_play ? &lesson.second[next_play++] : nullptr);
        if (card.numbers && card.conceals) CHECK(ui.sees("lesson.numbers.agree"));
        ui.click("lesson.next");
      }
      CHECK(next_play == lesson.second.size());
      CHECK(ui.window().settings().lessons.completed.contains(id));
    }
    CHECK(plays().size() == ui.window().lessons().list().lessons.size());
  }

  TEST_CASE("what a card points at is in sight in a small window") {
    UiDriver ui({}, open_gpu_runner);
    ui.resize(1280, 720);
    ui.press(Key::F4);
    const std::vector<Lesson> lessons = ui.window().lessons().list().lessons;
    std::size_t controls = 0, matrices = 0;
    for (const Lesson& lesson : lessons) {
      CAPTURE(lesson.id);
      ui.window().show_lesson(lesson.path);
      ui.settle();
      for (std::size_t i = 0; i < lesson.cards.size(); ++i, ui.press(Key::Period, kControl)) {
        const LessonCard& card = lesson.cards[i];
        CAPTURE(card.title);
        const auto is_in = [](const chart::Rect& inner, const chart::Rect& outer) {
          return inner.origin.x >= outer.origin.x && inner.origin.y >= outer.origin.y && inner.end().x <= outer.end().x &&
                 inner.end().y <= outer.end().y;
        };
        if (!card.done.empty()) {
          CHECK(ui.rect("lesson.asked").end().y <= ui.rect("lesson.next").origin.y);
        }
        if (!card.control.empty()) {
          ++controls;
          REQUIRE(ui.sees(card.control));
          CHECK(is_in(ui.rect(card.control), {.origin = {}, .size = {1280.0F, 720.0F}}));
        }
        if (!card.matrix.empty() && ui.state().view.tab == "steps") {
          ++matrices;
          const chart::Rect matrix = ui.rect("steps." + card.matrix);
          const chart::Rect center = ui.window().center();
          CHECK(matrix.origin.y >= center.origin.y);
          CHECK(matrix.origin.y + std::min(matrix.size.y, 100.0F) <= center.end().y);
          CHECK(matrix.origin.x >= center.origin.x);
        }
      }
    }
    CHECK(controls > 8);
    CHECK(matrices > 5);
  }

  TEST_CASE("a presentation keeps the card, which folds, and has a larger map than the window") {
    UiDriver ui;
    ui.resize(1280, 720);
    start_lesson(ui, "3-notebook-001");
    ui.press(Key::Period, kControl);
    const glm::vec2 before = ui.rect("head.map").size * ui.ui().scale();
    ui.press(Key::F5);
    CHECK(ui.sees("lesson.task"));
    const glm::vec2 beside_card = ui.rect("head.map").size * ui.ui().scale();
    CHECK(beside_card.x > before.x);
    CHECK(beside_card.y > before.y);
    CHECK(ui.ui().scale() > 1.3F);
    ui.click("fold.sidebar");
    CHECK_FALSE(ui.sees("lesson.task"));
    CHECK(ui.rect("head.map").size.x * ui.ui().scale() >= beside_card.x);
    ui.click("rail.sidebar");
    CHECK(ui.sees("lesson.task"));
    ui.press(Key::Period, kControl);
    CHECK(ui.window().lessons().card_index() == 2);
    CHECK(ui.sees("lesson.task"));
    ui.press(Key::F5);
    CHECK(ui.ui().scale() == 1.0F);
  }

  TEST_CASE("the induction lesson tells the truth: without the previous-token head the induction head's diagonal is gone") {
    UiDriver ui(State{}, open_gpu_runner);
    start_lesson(ui, "7-finding-induction");
    for (int card = 0; card < 3; ++card) ui.press(Key::Period, kControl);
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
    // The task is done by a cell of the diagonal: not by a sink, a dark cell beside it or another repeated word.
    for (const auto& [query, key] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{{10, 0}, {10, 1}, {7, 4}}) {
      ui.click_cell(query, key);
      CHECK_FALSE(ui.sees("lesson.task.done"));
    }
    ui.click_cell(17, 8);
    CHECK(ui.sees("lesson.task.done"));
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
    start_lesson(ui, "8-without-the-mask");
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
}

}  // namespace viewer_lessons_test
