#pragma once

#include "app/engine/engine.h"
#include "app/lessons/lesson.h"
#include "app/state/json_reader.h"

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
  nlohmann::json (*value)(const LessonSubject& subject, const LessonRun& run);  ///< null: not known (yet)

  // What only questions have, which the player answers on the card.
  bool is_answer = false;
  /// Reads what the file says of it.
  void (*read)(const JsonReader& condition, LessonCondition& into) = nullptr;
  std::span<const std::string_view> beside = {};  ///< members that the condition may have for it
  bool has_own_test = false;                      ///< the file doesn't say what its value is compared with
  /// Returns what it is compared with, where the run knows that; null: not known. Without it the condition says so.
  nlohmann::json (*wanted)(const LessonSubject& subject, const LessonRun& run) = nullptr;
  /// Is the value right? Without it by the condition's test.
  bool (*is_right)(const nlohmann::json& value, const nlohmann::json& wanted, const LessonCondition& condition) = nullptr;
};

/// Returns all of them: what is observed, then questions().
std::span<const Observation> observations();
/// Returns those of observations() that the player answers.
std::span<const Observation> questions();

/// Returns the query for one cell, the first, of the subject's matrix.
TileQuery query_of(const LessonSubject& subject, const LessonRun& run);
/// Returns the values of cells, in one exact tile; empty: not known yet, or there are no such cells.
std::span<const float> cells_of(const LessonRun& run, TileQuery query);

/// Returns the overlap of each row of two maps, 0 … 1: of the rows' shares, the sum of the smaller ones. A row of zeros has
/// none. Empty: the maps have other sizes.
std::vector<double> overlaps(const nlohmann::json& painted, const nlohmann::json& computed);
inline constexpr std::uint32_t kMaxDrawn = 16;  ///< rows and columns of a map that can be painted
/// Are they numbers that lie so near to each other?
bool are_near(const nlohmann::json& value, const nlohmann::json& wanted, double within);

/// Finds a setting in a state, which needs no run, by the setting's path; null where it isn't there. Parts of lists are
/// numbers: "pinned.0".
const nlohmann::json* find_setting(const nlohmann::json& settings, const std::string& path);

/// A condition in a run.
struct ObservedCondition {
  nlohmann::json value;   ///< observed; null: not known
  nlohmann::json wanted;  ///< with which it is compared; null: not known
  bool is_known = false;  ///< are both?
  bool is_met = false;
};
ObservedCondition observe(const LessonCondition& condition, const LessonRun& run);

}  // namespace headlight::app
