#include "app/lessons/results.h"

#include <chrono>

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

}  // namespace

LessonResults read_results(const std::filesystem::path& path) {
  const json value =
      read_chosen_json(path, "results, a JSON object with \"headlight_results\" (docs/LESSONS.md)", kResultsLimits);
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

}  // namespace headlight::app
