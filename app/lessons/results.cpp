#include "app/lessons/results.h"

#include <chrono>
#include <map>

#include <fmt/chrono.h>

#include "app/lessons/lesson_condition.h"
#include "app/state/state_json.h"
#include "core/file.h"

namespace headlight::app {
namespace {

using nlohmann::json;

constexpr JsonLimits kResultsLimits{.bytes = std::size_t{64} << 20, .values = 5'000'000, .depth = 16};
constexpr std::uint32_t kMost = 1'000'000;

LessonResults::Answer read_answer(const json& value, const std::string& path) {
  const JsonReader reader(value, path);
  refuse_unknown(reader, value, {"lesson", "card", "condition", "try", "seed", "right", "answer", "time"});
  LessonResults::Answer answer;
  answer.lesson = text_of(reader, "lesson");
  reader.read("card", answer.card, 1U, kMost);
  reader.read("condition", answer.condition, 0U, kMost);
  reader.read("try", answer.attempt, 0U, kMost);
  reader.read("seed", answer.seed, 0U, std::numeric_limits<std::uint32_t>::max());
  reader.read("right", answer.is_right);
  reader.read("time", answer.time);
  if (const json* given = reader.find("answer")) answer.answer = *given;
  return answer;
}

std::string escaped(std::string_view text) {
  std::string html;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      default:
        html += letter;
    }
  }
  return html;
}

/// What one pupil, or all, did with a question.
struct QuestionOutcome {
  std::uint32_t first = 0, later = 0, never = 0;  ///< right at the first try; after a wrong answer; not
  std::uint32_t wrong = 0;                        ///< answers

  void operator+=(const QuestionOutcome& other) {
    first += other.first;
    later += other.later;
    never += other.never;
    wrong += other.wrong;
  }
};

using AnswerPlace = std::tuple<std::string, std::uint32_t, std::uint32_t>;  // lesson, card, condition

std::map<AnswerPlace, QuestionOutcome> questions_of(const LessonResults& results) {
  std::map<AnswerPlace, QuestionOutcome> asked;
  for (const LessonResults::Answer& answer : results.answers) {
    QuestionOutcome& one = asked[{answer.lesson, answer.card, answer.condition}];
    const bool is_known = one.first + one.later > 0;
    if (!answer.is_right) ++one.wrong;
    if (answer.is_right && !is_known) ++(one.wrong == 0 ? one.first : one.later);
  }
  for (auto& [place, one] : asked) one.never = one.first + one.later == 0 ? 1 : 0;
  return asked;
}

void add_row(std::string& html, const char* cell, const std::vector<std::string>& cells) {
  html += "<tr>";
  for (const std::string& text : cells) html += fmt::format("<{0}>{1}</{0}>", cell, escaped(text));
  html += "</tr>\n";
}

}  // namespace

LessonResults read_results(const std::filesystem::path& path) {
  const json value = read_chosen_json(path, "results, a JSON object with \"headlight_results\" (docs/LESSONS.md)", kResultsLimits);
  try {
    const JsonReader reader(value, "");
    std::uint32_t version = 0;
    reader.read("headlight_results", version, 1U, 1U);
    if (version == 0) throw Error("no results: there is no member \"headlight_results\"");
    refuse_unknown(reader, value, {"headlight_results", "name", "answers"});
    LessonResults results;
    reader.read("name", results.name);
    if (const json* answers = list_of(reader, "answers")) {
      for (std::size_t i = 0; i < answers->size(); ++i) {
        results.answers.push_back(read_answer((*answers)[i], fmt::format("answers[{}]", i)));
      }
    }
    return results;
  } catch (const std::exception& error) {
    throw Error("{}: {}", utf8(path), error.what());
  }
}

std::string results_text(const LessonResults& results) {
  json answers = json::array();
  for (const LessonResults::Answer& answer : results.answers) {
    answers.push_back({{"lesson", answer.lesson},
                       {"card", answer.card},
                       {"condition", answer.condition},
                       {"try", answer.attempt},
                       {"seed", answer.seed},
                       {"right", answer.is_right},
                       {"answer", answer.answer},
                       {"time", answer.time}});
  }
  json value = {{"headlight_results", 1}, {"answers", std::move(answers)}};
  if (!results.name.empty()) value["name"] = results.name;
  return to_text(value) + "\n";
}

std::string time_of_answer() {
  const auto now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

std::string results_page(const std::vector<std::pair<std::string, LessonResults>>& results, const LessonList& lessons) {
  const auto title_of = [&](const std::string& id) {
    const Lesson* lesson = lessons.find(id);
    return lesson ? lesson->title : id;
  };
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Headlight: results</title>\n<style>"
      "body{font:16px/1.5 sans-serif;margin:2em auto;max-width:60em;padding:0 1em}"
      "table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #999;padding:.2em .6em;text-align:left}"
      "</style></head><body>\n<h1>Results</h1>\n";
  std::map<AnswerPlace, QuestionOutcome> all;
  html += "<h2>Who</h2>\n<table>\n";
  add_row(html, "th",
          {"Who", "Lesson", "Right at the first try", "Right later", "Not right", "Wrong answers", "Last answer"});
  for (const auto& [file, of_one] : results) {
    std::map<std::string, QuestionOutcome> by_lesson;
    std::map<std::string, std::string> last;
    for (const auto& [place, asked] : questions_of(of_one)) {
      by_lesson[std::get<0>(place)] += asked;
      all[place] += asked;
    }
    for (const LessonResults::Answer& answer : of_one.answers)
      last[answer.lesson] = std::max(last[answer.lesson], answer.time);
    for (const auto& [lesson, asked] : by_lesson) {
      add_row(html, "td",
              {of_one.name.empty() ? file : of_one.name, title_of(lesson), std::to_string(asked.first),
               std::to_string(asked.later), std::to_string(asked.never), std::to_string(asked.wrong), last[lesson]});
    }
  }
  html += "</table>\n<h2>Questions</h2>\n<table>\n";
  add_row(html, "th", {"Lesson", "Card", "Question", "Right at the first try", "Right later", "Not right", "Wrong answers"});
  for (const auto& [place, asked] : all) {
    const auto& [id, card, condition] = place;
    const Lesson* lesson = lessons.find(id);
    const bool is_card = lesson && card >= 1 && card <= lesson->cards.size();
    add_row(html, "td",
            {title_of(id), is_card ? fmt::format("{}: {}", card, lesson->cards[card - 1].title) : std::to_string(card),
             std::to_string(condition + 1), std::to_string(asked.first), std::to_string(asked.later),
             std::to_string(asked.never), std::to_string(asked.wrong)});
  }
  return html + "</table>\n</body></html>\n";
}

}  // namespace headlight::app
