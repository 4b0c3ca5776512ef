// The lessons that come along: what their texts state without a claim, and wrong answers that complete a card.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "app/lessons/card_runner.h"
#include "app/lessons/lesson_player.h"
#include "app/lessons/lesson_texts.h"
#include "app/state/state_json.h"
#include "core/file.h"

namespace bundled_lessons_test {

using namespace headlight;
using namespace headlight::app;
using nlohmann::json;

namespace {

const std::filesystem::path kFolder = HEADLIGHT_ASSETS_DIR "/lessons";

/// Numbers and words of a text, "0,61" as "0.61".
std::vector<std::string> terms_of(const std::string& text) {
  static const std::regex kTerm(R"([0-9]+([.,][0-9]+)*|[A-Za-z\x80-\xff]+)");
  std::vector<std::string> terms;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), kTerm); at != std::sregex_iterator(); ++at) {
    std::string term = at->str();
    std::ranges::replace(term, ',', '.');
    if (term.front() >= 'A' && term.front() <= 'Z') term.front() = static_cast<char>(term.front() - 'A' + 'a');
    terms.push_back(term);
  }
  return terms;
}

/// Must a claim say that it is so?
bool needs_claim(const std::string& term) {
  static const std::regex kWords(
      "[0-9].*|none|most|all|every|only|never|always|least|largest|smallest|strongest|weakest|brightest|darkest|longest|"
      "shortest|"
      "highest|lowest|best|worst|nothing|nobody|everything|"
      "kein(e|en|em|er|es)?|nie|niemals|immer|alle[mnrs]?|jede[mnrs]?|nur|nichts|niemand|meist(e|en|ens)?|"
      "(größt|kleinst|stärkst|schwächst|hellst|dunkelst|längst|kürzest|höchst|niedrigst|best)(e|en|er|es|em)");
  return std::regex_match(term, kWords);
}

/// The text without its references and formulas.
std::string unclaimed(const std::string& text) {
  static const std::regex kReference(R"(\$[^$]*\$|\{[^{}|]*\|[^{}]*\})");
  return std::regex_replace(text, kReference, " ");
}

/// Texts of a lesson, a card or a condition, in all its languages: `keys` are the members that have some.
std::vector<std::string> texts_in(const json& object, const std::set<std::string>& keys) {
  std::vector<std::string> texts;
  for (const auto& [key, value] : object.items()) {
    if (is_language(key) && value.is_object()) {
      for (const std::string& text : texts_in(value, keys)) texts.push_back(text);
    }
    if (!keys.contains(key)) continue;
    for (const json& text : value.is_array() ? value : json::array({value})) texts.push_back(text.get<std::string>());
  }
  return texts;
}

struct FoundLesson {
  std::string id;
  json file;
};

std::vector<FoundLesson> files() {
  std::vector<FoundLesson> found;
  for (const std::string& id : lessons_of(read_course(kFolder / kCourseFile))) {
    found.push_back({.id = id, .file = json::parse(read_file(kFolder / (id + ".json")))});
  }
  return found;
}

/// An answer beside the right one that a card would take, as a line.
struct Found {
  std::vector<std::string> lines;
  std::string place;

  void add(const std::string& what) { lines.push_back(place + ": " + what); }
};

/// Answers to a question that aren't the right one, each with its name.
std::vector<std::pair<std::string, json>> wrong_answers(const LessonCondition& asked, const json& right) {
  std::vector<std::pair<std::string, json>> wrong;
  const std::string_view name = asked.subject.observation->name;
  if (name == "choice") {
    for (std::size_t i = 0; i < asked.subject.choices.size(); ++i) {
      if (right != i) wrong.emplace_back(fmt::format("option {}", i), i);
    }
  } else if (name == "number") {
    const double away = 1.5 * asked.within + 0.001;
    for (const double value : {right.get<double>() + away, right.get<double>() - away})
      wrong.emplace_back(std::to_string(value), value);
    for (int value = 0; value <= 100; ++value) {
      if (std::abs(value - right.get<double>()) > away) wrong.emplace_back(std::to_string(value), value);
    }
  } else if (name == "order") {
    auto order = right.get<std::vector<std::size_t>>();
    for (int tries = 0; tries < 5'000 && std::ranges::next_permutation(order).found; ++tries) {
      wrong.emplace_back(json(order).dump(), order);
    }
  } else if (name == "draw") {
    json even = right, blank = right;
    for (json& row : even) std::ranges::fill(row, json(0.5));
    for (json& row : blank) std::ranges::fill(row, json(0.0));
    wrong = {{"all cells alike", even}, {"nothing painted", blank}};
  } else if (name == "arrows") {
    const glm::vec2 q = asked.subject.q, k = asked.subject.k;
    wrong = {{"the arrows where they begin", {{q.x, q.y}, {k.x, k.y}}}};
  } else if (name == "row_by_hand") {
    for (std::size_t i = 0; i < right.size(); ++i) {
      json other = right;
      other[i] = right[i].get<double>() + asked.within + 0.001;
      wrong.emplace_back(fmt::format("field {}", i), other);
    }
    const json even(std::vector<double>(right.size(), 1.0 / static_cast<double>(right.size())));
    const bool is_even =
        std::ranges::equal(right, even, [&](const json& a, const json& b) { return are_near(a, b, asked.within); });
    if (!is_even) wrong.emplace_back("an even row", even);
  }
  return wrong;
}

/// Cells and heads that complete cards which several of them complete rightly: the card's text says which these are.
const std::map<std::string, std::set<std::string>>& right_places() {
  static const std::map<std::string, std::set<std::string>> kRight = {};
  return kRight;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("numbers, superlatives and words such as none and all stand in claims, in the conditions or in \"plain\"") {
    std::vector<std::string> unproven;
    for (const FoundLesson& lesson : files()) {
      std::set<std::string> plain;
      for (const json& word : lesson.file.value("plain", json::array())) {
        for (const std::string& term : terms_of(word.get<std::string>())) plain.insert(term);
      }
      const auto look = [&](const std::string& where, const std::vector<std::string>& texts,
                            const std::set<std::string>& known) {
        for (const std::string& text : texts) {
          for (const std::string& term : terms_of(unclaimed(text))) {
            if (needs_claim(term) && !known.contains(term) && !plain.contains(term)) {
              unproven.push_back(fmt::format("{} {}: {} in \"{}\"", lesson.id, where, term, text));
            }
          }
        }
      };
      look("lesson", texts_in(lesson.file, {"title", "summary"}), {});
      std::set<std::string> known;  // of what is open, which later cards build on
      for (std::size_t i = 0; i < lesson.file["cards"].size(); ++i) {
        const json& card = lesson.file["cards"][i];
        std::set<std::string> of_card;
        for (const char* key : {"opens", "try", "second_text", "numbers", "done", "claims"}) {
          for (const std::string& term : terms_of(card.value(key, json()).dump())) {
            const bool is_number = term.front() >= '0' && term.front() <= '9';
            if (is_number) (key == std::string("opens") ? known : of_card).insert(term);
          }
        }
        of_card.insert(known.begin(), known.end());
        const std::string where = fmt::format("card {}", i + 1);
        look(where, texts_in(card, {"title", "text", "task", "reveal"}), of_card);
        for (const json& condition : card.value("done", json::array()))
          look(where, texts_in(condition, {"explain", "answer"}), of_card);
      }
    }
    for (const std::string& line : unproven) FAIL_CHECK(line);
  }

  TEST_CASE("each text of the lessons that come along is there in German") {
    for (const FoundLesson& lesson : files()) {
      CAPTURE(lesson.id);
      const auto is_whole = [&](const json& object, const std::set<std::string>& keys) {
        for (const std::string& key : keys) {
          if (!object.contains(key)) continue;
          CAPTURE(key);
          CAPTURE(object[key].dump());
          CHECK((object.contains("de") && object["de"].contains(key)));
        }
      };
      is_whole(lesson.file, {"title", "summary"});
      for (const json& card : lesson.file["cards"]) {
        is_whole(card, {"title", "text", "task", "reveal", "notes"});
        for (const json& condition : card.value("done", json::array())) {
          is_whole(condition, {"hint", "choice", "order", "explain", "answer", "number"});
        }
      }
    }
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("wrong answers that complete a card: options, orders, numbers, cells and heads are tried, none does") {
    Found found;
    for (const std::string& id : lessons_of(read_course(kFolder / kCourseFile))) {
      const Lesson lesson = read_lesson(kFolder / (id + ".json"));
      CardRunner runner(lesson, {});
      for (std::size_t i = 0; i < lesson.cards.size(); ++i) {
        runner.open_next();
        const LessonCard& card = lesson.cards[i];
        found.place = fmt::format("{} card {}", id, i + 1);
        const std::vector<ObservedCondition> opened = runner.observe_conditions(card.done);
        for (std::size_t c = 0; c < card.done.size(); ++c) {
          const LessonCondition& asked = card.done[c];
          if (!asked.subject.observation->is_answer) continue;
          const json& right = opened[c].wanted;
          CAPTURE(found.place);
          REQUIRE_FALSE(right.is_null());
          for (const auto& [name, answer] : wrong_answers(asked, right)) {
            if (runner.observe_conditions({asked}, {answer}).front().is_met) found.add(name);
          }
        }
        // Places that a user may go to: what is pinned or selected completes the card by itself.
        const bool is_by_place = !card.done.empty() && std::ranges::all_of(card.done, [](const LessonCondition& one) {
          const std::string_view name = one.subject.observation->name;
          const bool is_field = one.subject.field.starts_with("view.pinned") || one.subject.field.starts_with("selection.");
          return name == "click" || name == "offset" || name == "cell" || name == "largest_key" || name == "metric" ||
                 is_field;
        });
        if (!is_by_place) continue;
        const auto try_state = [&](const State& state, const std::string& name) {
          const json settings = to_json(state), no_answer;
          const auto is_met = [&](std::vector<Query>& queries) {
            return std::ranges::all_of(card.done, [&](const LessonCondition& one) {
              return observe(one, {.state = state,
                                   .settings = settings,
                                   .result = runner.result(),
                                   .queries = queries,
                                   .answer = no_answer})
                  .is_met;
            });
          };
          std::vector<Query> queries;
          if (!is_met(queries) && !queries.empty()) {
            std::vector<Query> again;
            runner.ask(queries);
            is_met(again);
            runner.ask(again);
          }
          queries.clear();
          const auto right = right_places().find(found.place);
          const bool is_right = right != right_places().end() && right->second.contains(name);
          if (is_met(queries) && !is_right) found.add(name);
        };
        const auto shapes = runner.result().shapes;  // each question replaces the result
        const auto shape = shapes.find(runner.state().selection.block);
        const bool is_small = shape != shapes.end() && shape->second.queries <= 32 && shape->second.keys <= 32;
        for (std::uint32_t row = 0; is_small && row < shape->second.queries; ++row) {
          for (std::uint32_t column = 0; column < shape->second.keys; ++column) {
            State state = runner.state();
            state.view.pinned = {.query = row, .key = column};
            const bool is_asked =
                card.done.front().subject.observation->name == "click" && opened.front().wanted == json({row, column});
            if (!is_asked) try_state(state, fmt::format("cell ({}, {})", row, column));
          }
        }
        for (const auto& [block, of] : shapes) {
          for (std::uint32_t head = 0; head < of.heads; ++head) {
            State state = runner.state();
            state.selection.block = block;
            state.selection.head = head;
            try_state(state, fmt::format("{} L{} H{}", model::to_string(block.kind), block.layer.value, head));
          }
        }
      }
    }
    for (const std::string& line : found.lines) FAIL_CHECK(line);
  }
}

}  // namespace bundled_lessons_test
