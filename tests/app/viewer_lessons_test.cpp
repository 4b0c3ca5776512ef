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
/// Shows later steps of a training.
Deed goes_on_by(int steps) {
  return [steps](UiDriver& ui) {
    for (int i = 0; i < steps; ++i) {
      ui.press(Key::PageDown, kControl);
      ui.settle();
    }
  };
}
Deed clicks(const std::string& name) {
  return [name](UiDriver& ui) { ui.click(name); };
}
Deed fills(const std::string& field, const std::string& text) {
  return [field, text](UiDriver& ui) { ui.fill_in(field, text); };
}
Deed types(const std::string& text) { return fills("text.edit", text); }
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

/// Types another number into a cell of a matrix of Steps, [6, 4].
Deed types_cell(const std::string& matrix, std::uint32_t row, std::uint32_t column, const std::string& text) {
  return [=](UiDriver& ui) {
    const glm::vec2 at = (glm::vec2(column, row) + 0.5F) / glm::vec2(4.0F, 6.0F);
    ui.wait(2.0);
    ui.click_within("steps." + matrix, at.x, at.y);
    ui.click_within("steps." + matrix, at.x, at.y);
    REQUIRE(ui.sees("steps.typed"));
    ui.press(Key::A, kControl);
    ui.type(text);
    ui.press(Key::Enter);
  };
}
/// Selects a head and knocks it out.
Deed knocks_out(std::uint32_t layer, std::uint32_t head) {
  return [=](UiDriver& ui) {
    const HeadRef now = ui.state().selection.head_ref();
    moves(static_cast<int>(layer) - static_cast<int>(now.block.layer.value),
          static_cast<int>(head) - static_cast<int>(now.head))(ui);
    ui.press(Key::K);
  };
}
/// In views that take the arrow keys for themselves.
Deed in_head_view(const Deed& deed) {
  return [deed](UiDriver& ui) {
    ui.show("head");
    deed(ui);
  };
}

/// The cards with such conditions by lesson and number. Answers to questions, right and wrong, follow from the
/// conditions themselves.
const std::map<std::string, std::map<std::size_t, Play>>& plays() {
  static const std::map<std::string, std::map<std::size_t, Play>> kPlays = {
      {"tokens-and-vectors",
       {{1,
         {types("A cat runs through the grass. A dog runs through the snow."),
          types("A hat runs through the grass. A dog runs through the snow.")}},
        {7, {presses(Key::Digit2), presses(Key::Digit4)}}}},
      {"values",
       {{3, {types_cell("v", 1, 0, "12"), types_cell("v", 0, 1, "12")}},
        {6, {types_cell("v", 1, 0, "-0.5411"), types_cell("v", 1, 0, "1")}}}},
      {"masks", {{6, {presses(Key::C), presses(Key::P)}}}},
      {"scale",
       {{2, {fills("model.d_k", "64"), fills("model.d_k", "8")}}, {4, {clicks("model.scale.0"), clicks("model.bias")}}}},
      {"positions", {{2, {clicks("model.positions"), clicks("model.bias")}}}},
      {"text-to-probability", {{5, {in_head_view(knocks_out(0, 5)), in_head_view(knocks_out(1, 3))}}}},
      {"generation", {{2, {clicks("generate.start"), types("A man in a red car")}}}},
      {"induction", {{6, {knocks_out(0, 5), knocks_out(0, 4)}}}},
      {"circuits", {{4, {in_head_view(moves(-1, -2)), in_head_view(moves(-1, -1))}}}},
      {"sinks-and-causes", {{4, {knocks_out(0, 5), knocks_out(1, 3)}}}},
      {"learning", {{3, {goes_on_by(9), goes_on_by(8)}}}},
      {"indirect-object", {{2, {in_head_view(knocks_out(2, 5)), in_head_view(knocks_out(1, 5))}}}},
  };
  return kPlays;
}

std::string_view kind_of(UiDriver& ui, std::size_t condition) {
  return ui.window().lessons().card().done[condition].subject.observation->name;
}

/// Drags the lines of an order until it is this one.
void drag_order(UiDriver& ui, std::size_t condition, const std::vector<std::size_t>& wanted) {
  const auto line = [&](std::size_t option) { return fmt::format("lesson.order.{}.{}", condition, option); };
  for (std::size_t place = 0; place < wanted.size(); ++place) {
    // The line that is there now: of those that have no place yet the uppermost.
    std::size_t top = wanted[place];
    for (std::size_t other = place; other < wanted.size(); ++other) {
      if (ui.rect(line(wanted[other])).origin.y < ui.rect(line(top)).origin.y) top = wanted[other];
    }
    if (top != wanted[place]) ui.drag(line(wanted[place]), line(top));
  }
}

/// Paints a map as it is computed: a row's largest weight is 1.
void paint_map(UiDriver& ui, std::size_t condition, const nlohmann::json& map) {
  for (int level = 1; level <= 4; ++level) {
    ui.click(fmt::format("lesson.strength.{}.{}", condition, level));
    for (std::size_t row = 0; row < map.size(); ++row) {
      const auto weights = map[row].get<std::vector<double>>();
      const double largest = *std::ranges::max_element(weights);
      for (std::size_t column = 0; column < weights.size(); ++column) {
        const bool is_it = static_cast<int>(std::lround(4.0 * weights[column] / largest)) == level;
        if (is_it) ui.click(fmt::format("lesson.draw.{}.{}.{}", condition, row, column));
      }
    }
  }
}

/// Drags both arrows so that their product is this.
void drag_arrows(UiDriver& ui, std::size_t condition, float product) {
  const LessonSubject& subject = ui.window().lessons().card().done[condition].subject;
  const chart::Rect plane = ui.rect(fmt::format("lesson.plane.{}", condition));
  const glm::vec2 most = glm::max(glm::abs(subject.q), glm::abs(subject.k));
  const float reach = std::max(std::ceil(std::max(most.x, most.y)) + 1.0F, 3.0F);
  const auto drag_to = [&](const char* arrow, glm::vec2 end) {
    const glm::vec2 to = plane.center() + end * glm::vec2(0.5F, -0.5F) * plane.size / reach;
    const glm::vec2 from = ui.rect(fmt::format("lesson.arrow.{}.{}", condition, arrow)).center();
    ui.feed(shell::drag(from * ui.ui().scale(), to * ui.ui().scale()));
  };
  drag_to("q", {1.0F, 0.0F});
  drag_to("k", {product, 1.0F});
}

/// Answers a question of the open card by mouse and keyboard.
void answer(UiDriver& ui, std::size_t condition, const nlohmann::json& value) {
  const std::string_view name = kind_of(ui, condition);
  const std::string check = fmt::format("lesson.check.{}", condition);
  if (name == "click") return ui.click_cell(value.at(0).get<std::uint32_t>(), value.at(1).get<std::uint32_t>());
  if (name == "explain") {
    if (ui.sees(fmt::format("lesson.compare.{}", condition))) {
      ui.fill_in(fmt::format("lesson.explain.{}", condition), "Because softmax divides by the sum of the row.");
      ui.click(fmt::format("lesson.compare.{}", condition));
    }
    return ui.click(fmt::format("lesson.had.{}.0", condition));
  }
  if (name == "choice") ui.click(fmt::format("lesson.choice.{}.{}", condition, value.get<std::size_t>()));
  if (name == "number") ui.fill_in(fmt::format("lesson.number.{}", condition), fmt::format("{:.6f}", value.get<double>()));
  if (name == "order") drag_order(ui, condition, value.get<std::vector<std::size_t>>());
  if (name == "draw") paint_map(ui, condition, value);
  if (name == "arrows") drag_arrows(ui, condition, value.get<float>());
  for (std::size_t i = 0; name == "row_by_hand" && i < value.size(); ++i) {
    const std::string field = fmt::format("lesson.row.{}.{}", condition, i);
    if (ui.sees(field)) ui.fill_in(field, fmt::format("{:.6f}", value[i].get<double>()));
  }
  ui.click(check);
}

/// The answer that is right: what is wanted, of arrows a product within the limits.
nlohmann::json right_answer(const LessonCondition& condition, const ConditionStanding& standing) {
  if (condition.subject.observation->name != "arrows") return standing.observed.wanted;
  const double low =
      condition.test == LessonCondition::Test::AtMost ? condition.value.get<double>() - 0.5 : condition.value.get<double>();
  return std::round(5.0 * (low + condition.most.value_or(low + 1.0))) / 10.0;
}

/// Every other choice, a number a little too far away, the cell beside, an order with two exchanged, nothing painted.
std::vector<nlohmann::json> wrong_answers(const LessonCondition& condition, const nlohmann::json& right) {
  std::vector<nlohmann::json> wrong;
  const std::string_view name = condition.subject.observation->name;
  const double away = 1.5 * condition.within + 0.001;
  for (std::size_t i = 0; name == "choice" && i < condition.subject.choices.size(); ++i) {
    if (right != i) wrong.emplace_back(i);
  }
  if (name == "number") wrong = {right.get<double>() + away, right.get<double>() - away};
  if (name == "click") {
    const auto row = right.at(0).get<std::uint32_t>();
    wrong = {{row > 0 ? row - 1 : row + 1, right.at(1)}};
  }
  if (name == "order" || name == "row_by_hand") {
    nlohmann::json other = right;
    if (name == "order") std::swap(other[0], other[1]);
    if (name == "row_by_hand") other[0] = other[0].get<double>() + away;
    wrong.push_back(other);
  }
  if (name == "draw") wrong.push_back(nlohmann::json::array());
  if (name == "arrows") wrong.emplace_back(right.get<double>() > 0.0 ? -1.0 : 2.0);
  return wrong;
}

/// Does wrong things and then right ones, until the card's task is done.
void play_card(UiDriver& ui, const Play* play, bool is_repeat) {
  const LessonPlayer& player = ui.window().lessons();
  const LessonCard& card = player.card();
  const State opened = ui.state();
  CHECK(ui.sees("lesson.task"));
  for (std::size_t i = 0; !is_repeat && i < card.done.size(); ++i) {
    if (!card.done[i].subject.observation->is_answer) continue;
    const bool is_later = kind_of(ui, i) == "row_by_hand" && !ui.sees(fmt::format("lesson.row.{}.0", i));
    if (is_later) continue;  // rows come once those before are right
    for (const nlohmann::json& wrong : wrong_answers(card.done[i], right_answer(card.done[i], player.standings()[i]))) {
      CAPTURE(wrong.dump());
      answer(ui, i, wrong);
      CHECK(ui.sees("lesson.hint"));
      REQUIRE_FALSE(ui.sees("lesson.task.done"));
    }
  }
  if (play && !is_repeat) {
    play->wrong(ui);
    CHECK(ui.state() != opened);
    REQUIRE_FALSE(ui.sees("lesson.task.done"));
  }
  if (!is_repeat) ui.click("lesson.again");
  REQUIRE_FALSE(ui.sees("lesson.task.done"));
  if (play) play->right(ui);
  for (std::uint32_t times = 0; times < card.tries.times; ++times) {
    for (std::size_t i = 0; i < card.done.size(); ++i) {
      if (card.done[i].subject.observation->is_answer) answer(ui, i, right_answer(card.done[i], player.standings()[i]));
    }
    ui.settle();
  }
  std::string observed;
  for (const ConditionStanding& standing : player.standings()) {
    observed += fmt::format("{} for {}; ", standing.observed.value.dump(), standing.observed.wanted.dump());
  }
  CAPTURE(observed);
  REQUIRE(ui.sees("lesson.task.done"));
}

/// All wrong answers to the open card that play_card() gives.
std::vector<nlohmann::json> wrong_answers_of(const LessonPlayer& player) {
  std::vector<nlohmann::json> all;
  for (std::size_t i = 0; i < player.card().done.size(); ++i) {
    if (!player.card().done[i].subject.observation->is_answer) continue;
    const auto wrong = wrong_answers(player.card().done[i], right_answer(player.card().done[i], player.standings()[i]));
    all.insert(all.end(), wrong.begin(), wrong.end());
  }
  return all;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("every lesson is played to its end in both languages: what is right completes a card, what is wrong doesn't") {
    for (const char* language : {"en", "de"}) {
      UiDriver ui(State{}, open_gpu_runner);  // the reference leaves gains out of predictions
      ui.resize(1600, 2400);                  // all sections of the sidebar are in sight
      ui.press(Key::F4);
      if (language == std::string("de")) ui.click("lesson.language.de");
      const std::vector<std::string> course = lessons_of(ui.window().lessons().list().parts);
      for (const std::string& id : course) {
        CAPTURE(language);
        CAPTURE(id);
        start_lesson(ui, id);
        while (const Lesson* lesson = ui.window().lessons().lesson()) {
          const LessonPlayer& player = ui.window().lessons();
          const LessonCard& card = player.card();
          const std::size_t number = player.card_index() + 1, cards = lesson->cards.size();
          const std::string title = card.title;
          const std::string notice = ui.window().notice().text;
          CAPTURE(number);
          CAPTURE(title);
          CAPTURE(notice);
          const bool is_repeat = player.is_repeat();
          if (!card.control.empty()) CHECK(ui.sees(card.control));
          if (card.numbers && !card.conceals) CHECK(ui.sees("lesson.numbers.agree"));
          const bool needs_play = std::ranges::any_of(
              card.done, [](const LessonCondition& condition) { return !condition.subject.observation->is_answer; });
          const Play* play = needs_play ? &plays().at(id).at(number) : nullptr;
          if (!card.done.empty()) play_card(ui, play, is_repeat);
          if (card.numbers && card.conceals) CHECK(ui.sees("lesson.numbers.agree"));
          CHECK(player.has_missed() == (card.has_question() && !is_repeat && !wrong_answers_of(player).empty()));
          ui.click("lesson.next");
          if (number == cards && !is_repeat) CHECK(ui.window().settings().lessons.completed.contains(id));
        }
      }
      CHECK(ui.sees("lesson.finished"));
    }
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
        // Pictures, rows of fields and what is written are scrolled to.
        const bool is_large = std::ranges::any_of(card.done, [](const LessonCondition& asked) {
          const std::string_view name = asked.subject.observation->name;
          return name == "draw" || name == "arrows" || name == "order" || name == "explain" || name == "row_by_hand";
        });
        if (!card.done.empty()) {
          CHECK(ui.rect(is_large ? "lesson.task" : "lesson.asked").end().y <= ui.rect("lesson.next").origin.y);
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
    CHECK(controls >= 7);
    CHECK(matrices > 5);
  }

  TEST_CASE("a presentation keeps the card, which folds, and has a larger map than the window") {
    UiDriver ui;
    ui.resize(1280, 720);
    start_lesson(ui, "masks");
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
}

}  // namespace viewer_lessons_test
