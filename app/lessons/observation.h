#pragma once

#include "app/engine/engine.h"
#include "app/lessons/lesson.h"

namespace headlight::app {

/// The sources of an observation. It knows a number as soon as the engine has answered; its queries are put into `queries`.
struct LessonRun {
  const State& state;
  const nlohmann::json& settings;  ///< the state, as a session file has it
  const EngineResult& result;
  std::vector<Query>& queries;
  const nlohmann::json& answer;  ///< what the player has answered on the card; null: nothing yet
};

/// A thing that a condition of a lesson can look at: a line of observations(). Its name is the member of a condition that
/// asks for it.
struct Observation {
  std::string_view name;                      ///< "cell"
  std::span<const std::string_view> members;  ///< that its object in a file may have; none: it is a text or a list
  bool is_answer;                             ///< what the player answers on the card: a question
  nlohmann::json (*value)(const LessonSubject& subject, const LessonRun& run);  ///< null: not known (yet)
};

/// Returns all of them.
std::span<const Observation> observations();

/// Finds a setting in a state, which needs no run, by the setting's path; null where it isn't there. Parts of lists are
/// numbers: "pinned.0".
const nlohmann::json* find_setting(const nlohmann::json& settings, const std::string& path);

/// A condition in a run.
struct ObservedCondition {
  nlohmann::json value;   ///< observed; null: not known
  nlohmann::json wanted;  ///< with which it is compared; null: not known
  bool is_met = false;
};
ObservedCondition observe(const LessonCondition& condition, const LessonRun& run);

}  // namespace headlight::app
